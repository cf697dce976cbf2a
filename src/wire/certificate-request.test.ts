import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkSignature, parseCertificateRequest } from '#wire/certificate-request.ts'
import { decodePem, decodePemBlocks, encodePem } from '#wire/pem.ts'

const kubelet = `-----BEGIN CERTIFICATE REQUEST-----
MIIBVDCB+wIBADBAMRUwEwYDVQQKDAxzeXN0ZW06bm9kZXMxDjAMBgNVBAoMBW90
aGVyMRcwFQYDVQQDDA5zeXN0ZW06bm9kZTpuMTBZMBMGByqGSM49AgEGCCqGSM49
AwEHA0IABP3NtjULWgQvzrx2Gioe1ZFz6DRRCA1KJsBWQY/TiOPRft2Fg0i/pWNj
a3evtfM9LiPjVtD1WnqBvZXW5HMGh4mgWTBXBgkqhkiG9w0BCQ4xSjBIMEYGA1Ud
EQQ/MD2CDm4xLmV4YW1wbGUuY29thwQKAAABhxD+gAAAAAAAAAAAAAAAAAABgQVh
QGIuY4YMc3BpZmZlOi8veC95MAoGCCqGSM49BAMCA0gAMEUCIQD2DPAWFfj/mJ3H
5j7HMk/t1PkqsqvmtEZ2h8fptf8gTgIgU9S4uH0g0FvqNRWf2eeQlfK/IFzCTC6l
6Ydfl2kt2qY=
-----END CERTIFICATE REQUEST-----
`

const jane = `-----BEGIN CERTIFICATE REQUEST-----
MIIBTjCBuAIBADAPMQ0wCwYDVQQDDARqYW5lMIGfMA0GCSqGSIb3DQEBAQUAA4GN
ADCBiQKBgQDB1X0JGjXpJ5I3p6vyxkfmQ52cZ5tDdvzHm5eNXWRcU+Cmex6AxKWe
67qKIYL459g3iG71Dd/tx6pWonjTInwsrvI8wh8Jc3KQapyKTecB/SA8r+m/4ETg
Tg2hOVK0EHFCA0vOyLR+y1Vu98JcP2e6zdlFxB9XYGmCza03VtmnWwIDAQABoAAw
DQYJKoZIhvcNAQELBQADgYEAOlJ5gaixdgYj6Fe+3rPcerB5jklMz2hC/22WUU0O
X5wvNMMW13eZD2UCTr4jGpx9R8HK48+pvCHQhN1aMIpSKnyxxzb8uayITsyqG3nK
BC170+XshmavkZ+4nnhS5C1wwFgtKaKBQZd0X5piSvFcRyoit7sG4mFVr89qYs2F
NHE=
-----END CERTIFICATE REQUEST-----
`

const ed25519 = `-----BEGIN CERTIFICATE REQUEST-----
MIGMMEACAQAwDTELMAkGA1UEAwwCZWQwKjAFBgMrZXADIQDMNdmWSpYY3iTwdjoT
0Fat7kFuWRflrUy1O1X8c8+Am6AAMAUGAytlcANBALHmUBbnp5Tiv80Fhu4JUUZ8
aXf1WO7Zoq9Fx85uLSP8FM6Z7T9uNui8vafWWdB5PfWtTaAZ0+D72PYjYXKrWgA=
-----END CERTIFICATE REQUEST-----
`

const requestIn = (pem: string) => parseCertificateRequest(decodePem(pem).block?.bytes ?? new Uint8Array())

test('a request tells its subject and its alternative names', () => {
  const request = requestIn(kubelet)
  assert.equal(request.subject.commonName, 'system:node:n1')
  assert.deepEqual(request.subject.organization, ['system:nodes', 'other'])
  assert.deepEqual(request.dnsNames, ['n1.example.com'])
  assert.deepEqual(request.emailAddresses, ['a@b.c'])
  assert.deepEqual(request.uris, ['spiffe://x/y'])
  assert.deepEqual(
    request.ipAddresses.map((ip) => Buffer.from(ip).toString('hex')),
    ['0a000001', 'fe800000000000000000000000000001'],
  )
  assert.deepEqual(requestIn(jane).dnsNames, [])
})

test('the signature of each kind of key is checked', () => {
  for (const [pem, failure] of [
    [kubelet, 'x509: ECDSA verification failure'],
    [jane, 'crypto/rsa: verification error'],
    [ed25519, 'x509: Ed25519 verification failure'],
  ] as const) {
    const request = requestIn(pem)
    checkSignature(request)
    const signed = Buffer.from(request.signed)
    signed[20] = (signed[20] ?? 0) ^ 1
    assert.throws(() => checkSignature({ ...request, signed }), new RegExp(failure))
    assert.throws(
      () => checkSignature({ ...request, signatureAlgorithm: '1.2.3' }),
      /x509: cannot verify signature: algorithm unimplemented/,
    )
  }
})

test('what is no request is refused in the words clients know', () => {
  const cases: [string, Uint8Array, string][] = [
    ['nothing', new Uint8Array(), 'asn1: syntax error: sequence truncated'],
    ['text', Buffer.from('garbage'), 'asn1: syntax error: data truncated'],
    [
      'a number',
      Uint8Array.of(2, 1, 5),
      "asn1: structure error: tags don't match (16 vs {class:0 tag:2 length:1 isCompound:false}) {optional:false explicit:false application:false private:false defaultValue:<nil> tag:<nil> stringType:0 timeType:0 set:false omitEmpty:false} certificateRequest @2",
    ],
    ['something behind it', Uint8Array.of(0x30, 0, 1), 'asn1: syntax error: trailing data'],
  ]
  for (const [name, der, message] of cases) assert.throws(() => parseCertificateRequest(der), { message }, name)
})

test('PEM blocks are found among other text, and broken ones are skipped', () => {
  const text = `noise\n${kubelet}more\n-----BEGIN X-----\n!!!\n-----END X-----\n${encodePem('Y', Buffer.from('abc'))}`
  assert.deepEqual(
    decodePemBlocks(text).map((block) => block.type),
    ['CERTIFICATE REQUEST', 'Y'],
  )
  assert.deepEqual(decodePem('-----BEGIN A-----\nProc-Type: 4,ENCRYPTED\n\nYWJj\n-----END A-----').block?.headers, {
    'Proc-Type': '4,ENCRYPTED',
  })
  assert.equal(decodePem('-----BEGIN A-----\nYWJj\n-----END B-----').block, undefined)
  assert.equal(decodePem('-----BEGIN A-----\n-----END A-----\n').block?.bytes.length, 0)
  assert.equal(decodePem('').block, undefined)
})

test('a block is written as it is read', () => {
  for (const size of [0, 1, 47, 48, 49, 96, 200]) {
    const bytes = Uint8Array.from({ length: size }, (_, index) => index & 0xff)
    const pem = encodePem('TEST', bytes)
    assert.ok(pem.split('\n').every((line) => line.length <= 64))
    assert.deepEqual(Buffer.from(decodePem(pem).block?.bytes ?? []), Buffer.from(bytes))
  }
  const block = decodePem(kubelet).block
  assert.equal(encodePem('CERTIFICATE REQUEST', block?.bytes ?? new Uint8Array()), kubelet)
})
