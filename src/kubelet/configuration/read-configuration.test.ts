import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readKubeletConfiguration } from '#kubelet/configuration/read-configuration.ts'

const head = 'kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\n'

test('what a file says is laid over the defaults', async () => {
  const text = `${head}staticPodPath: /etc/kubernetes/manifests\nclusterDNS: [10.96.0.10]\nauthentication: {anonymous: {enabled: true}}\n`
  const { configuration, ignored } = await readKubeletConfiguration(text, 'file')
  assert.equal(configuration.staticPodPath, '/etc/kubernetes/manifests')
  assert.deepEqual(configuration.clusterDNS, ['10.96.0.10'])
  assert.deepEqual(configuration.authentication, {
    x509: {},
    webhook: { enabled: true, cacheTTL: '2m0s' },
    anonymous: { enabled: true },
  })
  assert.equal(configuration.port, 10_250)
  assert.deepEqual(ignored, [])
})

test('settings that change nothing are named', async () => {
  const { ignored } = await readKubeletConfiguration(`${head}oomScoreAdj: -999\n`, 'file')
  assert.deepEqual(ignored, ['oomScoreAdj'])
})

for (const [text, expected] of [
  ['[]', 'file: the document is not a map'],
  ['kind: Pod\napiVersion: v1', 'file: expected KubeletConfiguration of kubelet.config.k8s.io/v1beta1, found Pod of v1'],
  [`${head}prot: 1`, 'file: unknown field "prot"'],
  [`${head}authentication: {webhok: {}}`, 'file: unknown field "authentication.webhok"'],
  [`${head}port: "10250"`, 'file: port is not a number'],
  [`${head}port: 70000`, 'file: port is not a port: 70000'],
  [`${head}clusterDNS: 10.96.0.10`, 'file: clusterDNS is not a list'],
  [`${head}authorization: {mode: RBAC}`, 'file: authorization.mode must be AlwaysAllow or Webhook, not RBAC'],
] as const) {
  test(`refused: ${expected}`, async () => {
    await assert.rejects(readKubeletConfiguration(text, 'file'), { message: expected })
  })
}
