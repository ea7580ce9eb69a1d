# SPDX-License-Identifier: Apache-2.0
"""Decodes ExportProfilesServiceRequests of standard input, one per line in base 64, or encodes a response, with Google's protobuf and
protoc's code for profiles.proto.

usage: /usr/bin/python3 profiles_decoder.py FOLDER_OF_PROFILES_PB2 [REJECTED MESSAGE]
"""

import base64
import json
import sys

sys.path.insert(0, sys.argv[1])
import profiles_pb2  # noqa: E402  (protoc writes it)
from google.protobuf import json_format  # noqa: E402

if len(sys.argv) > 2:
    answer = profiles_pb2.ExportProfilesServiceResponse()
    answer.partial_success.rejected_profiles = int(sys.argv[2])
    answer.partial_success.error_message = sys.argv[3]
    sys.stdout.buffer.write(answer.SerializeToString())
else:
    for line in sys.stdin:
        request = profiles_pb2.ExportProfilesServiceRequest.FromString(base64.b64decode(line))
        print(json.dumps(json_format.MessageToDict(request, including_default_value_fields=True, preserving_proto_field_name=True)))
