/** Requests for certificates as `spec.request` has them, made once with openssl. */
const requestOf = (der: string): string =>
  Buffer.from(`-----BEGIN CERTIFICATE REQUEST-----\n${der.match(/.{1,64}/g)?.join('\n')}\n-----END CERTIFICATE REQUEST-----\n`).toString(
    'base64',
  )

/** O=system:masters, CN=jane */
export const mastersRequest = requestOf(
  'MIHjMIGKAgEAMCgxFzAVBgNVBAoMDnN5c3RlbTptYXN0ZXJzMQ0wCwYDVQQDDARqYW5lMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE2ZEBMeGHy2qAduoU8x10l5wS1a2M59cL/5cFG5GencFotdEW99Z8hFN0x8BdCPEVmWE4Dr/cLMbo00oYAfE1zqAAMAoGCCqGSM49BAMCA0gAMEUCIQCQO3X/x72Dgokke+2FrRoTsiLwlUcfX9SLtyk3uBVWGwIgNlULxp3sjVTUBm5sKw4qnXUCErF1yWo5XKX7rtpjkcc=',
)
/** O=system:nodes, CN=system:node:n1 */
export const nodeRequest = requestOf(
  'MIHqMIGSAgEAMDAxFTATBgNVBAoMDHN5c3RlbTpub2RlczEXMBUGA1UEAwwOc3lzdGVtOm5vZGU6bjEwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATZkQEx4YfLaoB26hTzHXSXnBLVrYzn1wv/lwUbkZ6dwWi10Rb31nyEU3THwF0I8RWZYTgOv9wsxujTShgB8TXOoAAwCgYIKoZIzj0EAwIDRwAwRAIgOCLt1foNHyVxWsWjMkEn+sEJU1z9sdx1VyldiyWOd9ICIE+m9jO2TW5y/yMFoXcitNZwMCBq18ChPj9xFIljvafE',
)
/** O=dev, CN=jane */
export const userRequest = requestOf(
  'MIHWMH8CAQAwHTEMMAoGA1UECgwDZGV2MQ0wCwYDVQQDDARqYW5lMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE2ZEBMeGHy2qAduoU8x10l5wS1a2M59cL/5cFG5GencFotdEW99Z8hFN0x8BdCPEVmWE4Dr/cLMbo00oYAfE1zqAAMAoGCCqGSM49BAMCA0cAMEQCIAqRoBv1N/Iv1GYZITu5AjnLN9B+t1zFybMT9NhwLqTYAiBLOuDRVgtdHBrR5+XN94IVLIb6rijub0Dy8CSnE6tN/Q==',
)
