local a = require "atalaya"

os.execute("true")
