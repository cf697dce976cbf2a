import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ignoredFields } from '#kubelet/configuration/kubelet-configuration.ts'
import { readKubeletConfiguration, readKubeletConfigurations } from '#kubelet/configuration/read-configuration.ts'

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
  const { ignored } = await readKubeletConfiguration(`${head}hairpinMode: none\n`, 'file')
  assert.deepEqual(ignored, ['hairpinMode'])
})

test('files of a directory are laid over the first one, in order', async () => {
  const { configuration } = await readKubeletConfigurations([
    { text: `${head}maxPods: 50\nclusterDNS: [10.96.0.10]\nkubeReserved: {cpu: 100m}\n`, path: 'main' },
    { text: `${head}maxPods: 60\nkubeReserved: {memory: 1Gi}\n`, path: '10-a.conf' },
    { text: `${head}clusterDNS: [10.96.0.11]\n`, path: '20-b.conf' },
  ])
  assert.equal(configuration.maxPods, 60)
  assert.deepEqual(configuration.clusterDNS, ['10.96.0.11'])
  assert.deepEqual(configuration.kubeReserved, { cpu: '100m', memory: '1Gi' })
  const wrong = [
    { text: head, path: 'main' },
    { text: `${head}prot: 1`, path: '10-a.conf' },
  ]
  await assert.rejects(readKubeletConfigurations(wrong), { message: '10-a.conf: unknown field "prot"' })
})

test('how often the node tells follows how often it looks, unless that is said too', async () => {
  const frequencies = async (text: string) => {
    const { nodeStatusUpdateFrequency, nodeStatusReportFrequency } = (await readKubeletConfiguration(`${head}${text}`, 'file'))
      .configuration
    return [nodeStatusUpdateFrequency, nodeStatusReportFrequency]
  }
  assert.deepEqual(await frequencies(''), ['10s', '5m0s'])
  assert.deepEqual(await frequencies('nodeStatusUpdateFrequency: 20s'), ['20s', '20s'])
  assert.deepEqual(await frequencies('nodeStatusUpdateFrequency: 20s\nnodeStatusReportFrequency: 1m'), ['20s', '1m'])
})

test('thresholds that are left out are none, or the usual ones where that is asked for', async () => {
  const hard = async (text: string) =>
    (await readKubeletConfiguration(`${head}evictionHard: {memory.available: 1Gi}\n${text}`, 'file')).configuration.evictionHard
  assert.deepEqual(await hard(''), { 'memory.available': '1Gi' })
  const merged = await hard('mergeDefaultEvictionSettings: true')
  assert.deepEqual([merged['memory.available'], merged['nodefs.available']], ['1Gi', '10%'])
})

for (const [text, expected] of [
  ['[]', 'file: the document is not a map'],
  ['kind: Pod\napiVersion: v1', 'file: expected KubeletConfiguration of kubelet.config.k8s.io/v1beta1, found Pod of v1'],
  [`${head}prot: 1`, 'file: unknown field "prot"'],
  [`${head}authentication: {webhok: {}}`, 'file: unknown field "authentication.webhok"'],
  [`${head}port: "10250"`, 'file: port is not a number'],
  [`${head}port: 70000`, 'file: port is not a port: 70000'],
  [`${head}clusterDNS: 10.96.0.10`, 'file: clusterDNS is not a list'],
  [
    `${head}maxParallelImagePulls: 3`,
    'file: maxParallelImagePulls cannot be larger than 1 unless SerializeImagePulls (--serialize-image-pulls) set to false',
  ],
  [`${head}eventRecordQPS: -1`, 'file: eventRecordQPS -1 must not be a negative number'],
  [`${head}containerLogMaxWorkers: 0`, 'file: containerLogMaxWorkers must be greater than or equal to 1: 0'],
  [`${head}nodeLeaseDurationSeconds: 0`, 'file: nodeLeaseDurationSeconds must be greater than 0'],
  [
    `${head}crashLoopBackOff: {maxContainerRestartPeriod: 10m}`,
    'file: CrashLoopBackOff.MaxContainerRestartPeriod (got: 600 seconds) must be set between 1s and 300s',
  ],
  [`${head}tlsMinVersion: VersionTLS10`, 'file: unknown tls version "VersionTLS10"; VersionTLS12 or VersionTLS13'],
  [`${head}tlsCipherSuites: [NONE]`, "file: Cipher suite NONE not supported or doesn't exist"],
  [`${head}imagePullCredentialsVerificationPolicy: Maybe`, 'file: unknown image pull credential verification policy: Maybe'],
  [`${head}authorization: {mode: RBAC}`, 'file: authorization.mode must be AlwaysAllow or Webhook, not RBAC'],
] as const) {
  test(`refused: ${expected}`, async () => {
    await assert.rejects(readKubeletConfiguration(text, 'file'), { message: expected })
  })
}

test('the page about nodes names every field that has no effect', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/nodes.md'), 'utf8')
  assert.deepEqual(
    ignoredFields.filter((field) => !page.includes(`\`${field}\``)),
    [],
  )
})
