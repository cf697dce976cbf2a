import assert from 'node:assert/strict'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { CertificateSigningRequest } from '#api/certificates/v1/kinds.gen.ts'
import { newAuthority } from '#apiserver/pki/authority.ts'
import { nodeFiles } from '#base/files.ts'
import { silentLogger } from '#base/log.ts'
import { seededRandom } from '#base/random.ts'
import { Client } from '#client/client.ts'
import { keepServingCertificate } from '#cmd/kubelet/keep-serving-certificate.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

const startMs = Date.parse('2026-01-01T00:00:00Z')
const hourMs = 3_600_000

test('a kubelet serves with a certificate of the cluster once somebody approves, keeps it, and has it renewed in time', async () => {
  const { authority: ca, privateKeyPem } = newAuthority('ca', startMs, seededRandom(3))
  const authority = async () => ({ certificatePem: ca.certificatePem, privateKey: createPrivateKey(privateKeyPem) })
  await using cluster = await FakeCluster.start({
    withoutNodes: true,
    controllers: ['csrsigning'],
    settings: { signingAuthorities: { 'kubernetes.io/kubelet-serving': authority }, signingDurationMs: 2 * hourMs },
  })
  const { clock } = cluster
  const directory = await nodeFiles.temporaryDirectory('tn-serving-')
  const client = new Client({ transport: cluster.transportAs('system:node:far', ['system:nodes']), userAgent: 'test' })
  const shown: X509Certificate[] = []
  const keep = () =>
    keepServingCertificate(
      {
        ...{ client, nodeName: 'far', directory, subjectAltNames: { dnsNames: ['far'], ipAddresses: ['192.0.2.7'] } },
        onCertificate: ({ cert, key }) => {
          shown.push(new X509Certificate(cert))
          assert.ok(shown.at(-1)?.checkPrivateKey(createPrivateKey(key)))
        },
      },
      { clock, random: seededRandom(1), files: nodeFiles, logger: silentLogger },
    )
  const requests = async () => (await cluster.client.list(CertificateSigningRequest)).items
  const approve = async () => {
    for (const request of await requests()) {
      const condition = { type: 'Approved', status: 'True', reason: 'ByHand', message: 'fine' } as const
      if (!request.status?.conditions) {
        const status = { ...request.status, conditions: [condition] }
        await cluster.client.update(CertificateSigningRequest, { ...request, status }, { subresource: 'approval' })
      }
    }
  }
  // Files are real: what reads and writes them takes time that is not of the clock, and no certificate may end meanwhile.
  const until = async (holds: () => boolean | Promise<boolean>, seconds = 1) => {
    for (let tries = 0; !(await holds()) && tries < 6000; tries++) {
      await cluster.advance({ seconds: tries < 200 ? seconds : 0.05 })
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    assert.ok(await holds())
  }
  let keeping = keep()
  try {
    await until(async () => (await requests()).length === 1)
    assert.equal(shown.length, 0, 'nobody has approved')
    await approve()
    await until(() => shown.length === 1)
    assert.equal(shown[0]?.subjectAltName, 'DNS:far, IP Address:192.0.2.7')
    keeping[Symbol.dispose]()
    keeping = keep()
    await until(() => shown.length === 2)
    assert.equal(shown[1]?.fingerprint256, shown[0]?.fingerprint256, 'the one that was kept')
    assert.equal((await requests()).length, 1)
    await until(async () => (await requests()).length === 2, 60)
    await approve()
    await until(() => shown.length === 3)
    assert.notEqual(shown[2]?.fingerprint256, shown[0]?.fingerprint256)
    assert.ok(clock.now() < (shown[0]?.validToDate.getTime() ?? 0))
  } finally {
    keeping[Symbol.dispose]()
    await nodeFiles.remove(directory)
  }
})
