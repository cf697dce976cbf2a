import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addOptions, Command, optionValues } from '#base/options.ts'
import { configurationFlags, configurationOfFlags } from '#cmd/kubelet/configuration-flags.ts'
import { readKubeletConfigurations } from '#kubelet/configuration/read-configuration.ts'

function given(...args: string[]): string | undefined {
  const command = new Command()
  addOptions(command, configurationFlags)
  command.parse(['node', 'kubelet', ...args])
  return configurationOfFlags(optionValues(command, configurationFlags), (key) => command.getOptionValueSource(key) !== 'default')
}

test("upstream's flags are laid over the fields of the configuration file that they stand for", async () => {
  assert.equal(given(), undefined)
  const text = given(
    ...['--eviction-hard', 'memory.available<200Mi,nodefs.available<5%', '--kube-reserved', 'cpu=100m,memory=1Gi'],
    ...['--healthz-bind-address', '0.0.0.0', '--image-gc-high-threshold', '90', '--serialize-image-pulls=false'],
    ...['--authentication-token-webhook-cache-ttl', '1m'],
  )
  const file = JSON.stringify({
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    maxPods: 7,
    evictionHard: { 'memory.available': '1Mi' },
  })
  const { configuration, ignored } = await readKubeletConfigurations([
    { path: 'file', text: file },
    { path: 'flags', text: text ?? '' },
  ])
  assert.deepEqual(ignored, [])
  const { maxPods, evictionHard, kubeReserved, healthzBindAddress, imageGCHighThresholdPercent, serializeImagePulls } = configuration
  assert.deepEqual(
    { maxPods, kubeReserved, healthzBindAddress, imageGCHighThresholdPercent, serializeImagePulls },
    {
      ...{ maxPods: 7, kubeReserved: { cpu: '100m', memory: '1Gi' }, healthzBindAddress: '0.0.0.0' },
      ...{ imageGCHighThresholdPercent: 90, serializeImagePulls: false },
    },
  )
  assert.deepEqual([evictionHard['memory.available'], evictionHard['nodefs.available']], ['200Mi', '5%'])
  assert.equal(configuration.authentication.webhook.cacheTTL, '1m')
})

test('gates, headers and memory of NUMA nodes are said as upstream has them', async () => {
  const text = given(
    ...[
      '--feature-gates',
      'MemoryQoS=true,EnvFiles=false',
      '--manifest-url-header',
      'a:hello,b:again',
      '--manifest-url-header',
      'b:beautiful',
    ],
    ...['--reserved-memory', '0:memory=1Gi,hugepages-1Gi=2Gi', '--reserved-memory', '1:memory=2Gi'],
  )
  const { configuration, ignored } = await readKubeletConfigurations([{ path: 'flags', text: text ?? '' }])
  const { featureGates, staticPodURLHeader, reservedMemory } = configuration
  assert.deepEqual(featureGates, { MemoryQoS: true, EnvFiles: false })
  assert.deepEqual(ignored, ['featureGates.EnvFiles'])
  assert.deepEqual(staticPodURLHeader, { a: ['hello'], b: ['again', 'beautiful'] })
  assert.deepEqual(reservedMemory, [
    { numaNode: 0, limits: { memory: '1Gi', 'hugepages-1Gi': '2Gi' } },
    { numaNode: 1, limits: { memory: '2Gi' } },
  ])
})

test('every one of them is a field that the kubelet heeds', async () => {
  for (const [key, { kind }] of Object.entries(configurationFlags)) {
    const flag = `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
    const value = key.startsWith('eviction') && kind.placeholder === 'LIST' ? [] : undefined
    if (value !== undefined || kind.placeholder === 'LIST') continue
    const text = given(kind.placeholder === undefined ? `${flag}=true` : `${flag}=${kind.placeholder === 'N' ? 1 : '1m'}`)
    const { ignored } = await readKubeletConfigurations([{ path: 'flags', text: text ?? '' }]).catch((error: unknown) => {
      // A value that makes no sense is noticed as that of a field that is known.
      assert.doesNotMatch(String(error), /unknown field/, flag)
      return { ignored: [] }
    })
    assert.deepEqual(ignored, [], flag)
  }
})

test('what is not of the form is said', () => {
  assert.throws(() => given('--kube-reserved', 'cpu'), /--kube-reserved: cpu is not of the form NAME=VALUE/)
  assert.throws(() => given('--eviction-hard', 'memory.available=1'), /NAME<VALUE/)
  assert.throws(() => given('--feature-gates', 'A=on'), /--feature-gates: invalid value of A=on, must be true or false/)
  assert.throws(() => given('--reserved-memory', 'memory=1Gi'), /NUMA-NODE:TYPE=AMOUNT/)
})
