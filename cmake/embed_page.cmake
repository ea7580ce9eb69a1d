# Writes OUT from TEMPLATE with the texts of the files HTML, SCRIPT and SHEET, REASON and VERSION.
file(READ ${HTML} PAGE_HTML)
file(READ ${SCRIPT} PAGE_SCRIPT)
file(READ ${SHEET} PAGE_SHEET)
configure_file(${TEMPLATE} ${OUT} @ONLY)
