// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/http/client/authorization.h"

#include <Poco/Base64Encoder.h>
#include <Poco/Net/NetSSL.h>
#include <atalaya/plugin.hpp>

#include <sstream>

namespace atalaya::http_client {

Poco::Net::Context::Ptr tls_context(const TlsFiles &files) {
  Poco::Net::Context::Params params;
  params.caLocation = files.ca;
  params.certificateFile = files.certificate;
  params.privateKeyFile = files.key;
  params.loadDefaultCAs = files.ca.empty();
  params.verificationMode = Poco::Net::Context::VERIFY_STRICT;  // weaker modes accept any name on localhost
  try {
    Poco::Net::initializeSSL();
    Poco::Net::Context::Ptr context = new Poco::Net::Context(Poco::Net::Context::TLS_CLIENT_USE, params);
    context->requireMinimumProtocol(Poco::Net::Context::PROTO_TLSV1_2);
    context->enableExtendedCertificateVerification(true);
    return context;
  } catch (const Poco::Exception &problem) {
    throw Failure(Code::bad_config, "tls: " + problem.displayText());
  }
}

std::string basic_authorization(const std::string &credentials) {
  std::ostringstream encoded;
  Poco::Base64Encoder encoder(encoded);
  encoder.rdbuf()->setLineLength(0);
  encoder << credentials;
  encoder.close();
  return "Basic " + encoded.str();
}

}  // namespace atalaya::http_client
