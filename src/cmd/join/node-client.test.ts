import assert from 'node:assert/strict'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import { test } from 'node:test'
import { CertificateSigningRequest } from '#api/certificates/v1/kinds.gen.ts'
import { ClusterRoleBinding } from '#api/rbac/v1/kinds.gen.ts'
import { newAuthority } from '#apiserver/pki/authority.ts'
import { writeKubeconfig } from '#apiserver/pki/kubeconfig.ts'
import { nodeFiles } from '#base/files.ts'
import { Lifecycle } from '#base/lifecycle.ts'
import { silentLogger } from '#base/log.ts'
import { seededRandom } from '#base/random.ts'
import { requestNodeCertificate } from '#client/certificates/request-certificate.ts'
import { Client } from '#client/client.ts'
import { joiningClusterRoleBindings, joiningGroup } from '#cmd/init/joining-objects.ts'
import { openNodeClient } from '#cmd/join/node-client.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

const startMs = Date.parse('2026-01-01T00:00:00Z')
const hourMs = 3_600_000

test('a token gets a node its certificate, which is renewed by itself before it ends', async () => {
  const { authority: ca, privateKeyPem } = newAuthority('ca', startMs, seededRandom(3))
  const authority = async () => ({ certificatePem: ca.certificatePem, privateKey: createPrivateKey(privateKeyPem) })
  await using cluster = await FakeCluster.start({
    withoutNodes: true,
    controllers: ['csrsigning', 'csrapproving'],
    settings: { signingAuthorities: { 'kubernetes.io/kube-apiserver-client-kubelet': authority }, signingDurationMs: 2 * hourMs },
  })
  for (const binding of joiningClusterRoleBindings) await cluster.client.create(ClusterRoleBinding, binding)
  const { clock } = cluster
  const whileTimePasses = async <T>(work: Promise<T>): Promise<T> => {
    let isDone = false
    void work.finally(() => {
      isDone = true
    })
    for (let seconds = 0; !isDone && seconds < 600; seconds++) await cluster.advance({ seconds: 1 })
    return work
  }
  const bearer = new Client({ transport: cluster.transportAs('system:bootstrap:abcdef', [joiningGroup]), userAgent: 'test' })
  const credential = await whileTimePasses(requestNodeCertificate(bearer, { nodeName: 'far', clock }))
  const first = new X509Certificate(credential.certificatePem)
  assert.match(first.subject, /CN=system:node:far/)

  const directory = await nodeFiles.temporaryDirectory('tn-node-client-')
  const kubeconfig = join(directory, 'kubelet.kubeconfig')
  const entry = { name: 'a', server: 'https://127.0.0.1:1', authorityPem: ca.certificatePem }
  await writeKubeconfig(nodeFiles, kubeconfig, { ...entry, credential: { ...credential, notBeforeMs: 0, notAfterMs: 0 } })
  const lifecycle = new Lifecycle({ clock, logger: silentLogger })
  const shown: string[] = []
  try {
    await lifecycle.stage('client', async (stage) => {
      const place = { kubeconfig, nodeName: 'far', userAgent: 'test' }
      const seams = { clock, random: seededRandom(1), files: nodeFiles, logger: silentLogger }
      await openNodeClient(stage, place, seams, async ({ user }) => {
        shown.push(user.certificate ?? '')
        return { transport: cluster.transportAs('system:node:far', ['system:nodes']), certificatePem: user.certificate }
      })
    })
    await cluster.advance({ seconds: 3600 })
    const asked = async () => (await cluster.client.list(CertificateSigningRequest)).items.length
    assert.equal(await asked(), 1, 'it was renewed though it has long to live')
    for (let minutes = 0; (await asked()) < 2 && minutes < 60; minutes++) await cluster.advance({ seconds: 60 })
    // Files are real: what reads and writes them takes time that is not of the clock, and the certificate may not end meanwhile.
    for (let tries = 0; shown.length < 2 && tries < 6000; tries++) {
      await cluster.advance({ seconds: tries < 200 ? 1 : 0.05 })
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    assert.equal(shown.length, 2)
    const second = new X509Certificate(shown[1] ?? '')
    assert.ok(second.validToDate > first.validToDate)
    assert.ok(clock.now() < first.validToDate.getTime())
  } finally {
    await lifecycle.stop()
    await nodeFiles.remove(directory)
  }
})
