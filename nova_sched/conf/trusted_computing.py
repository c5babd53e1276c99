"""[trusted_computing]: the attestation server of TrustedFilter."""

from oslo_config import cfg

GROUP = 'trusted_computing'
HELP = 'The attestation server of TrustedFilter.'

OPTS = [
    cfg.StrOpt('attestation_server', help="""
Host name or address of the attestation server. Needed for TrustedFilter.
"""),
    cfg.StrOpt('attestation_server_ca_file', help="""
File with the certificate authority that signed the server's certificate.
"""),
    cfg.StrOpt('attestation_port', default='8443', help="""
Port of the attestation server.
"""),
    cfg.StrOpt(
        'attestation_api_url',
        default='/OpenAttestationWebServices/V1.0', help="""
Path of the attestation service on its server.
"""),
    cfg.StrOpt('attestation_auth_blob', secret=True, help="""
Credential of this service, issued by the server.
"""),
    cfg.IntOpt('attestation_auth_timeout', default=60, help="""
Seconds for which an answer about a host is valid. Lower it to notice lost
trust sooner, at the price of more queries.
"""),
    cfg.BoolOpt('attestation_insecure_ssl', default=False, help="""
Whether the server's certificate is accepted unchecked. For tests only.
"""),
]
