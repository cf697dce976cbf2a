/** What the default admission plugins cost a pod on its way into the store, and what a quota adds. */
import { LimitRange, Namespace, ResourceQuota, ServiceAccount } from '#api/core/v1/kinds.gen.ts'
import type { V1ResourceQuota } from '#api/core/v1/types.gen.ts'
import type { Kind } from '#api/kind.ts'
import { builtInKinds } from '#api/kinds.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import { FeatureGates } from '#api/meta/feature-gates.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { Scheme } from '#api/scheme.ts'
import { AdmissionChain, type AdmissionContext, type AdmissionRequest } from '#apiserver/admission/admission.ts'
import { admissionPlugins } from '#apiserver/admission/plugins.ts'
import { alwaysAllow } from '#apiserver/authz/chain.ts'
import { ApiServer } from '#apiserver/server.ts'
import { systemClock } from '#base/clock.ts'
import { silentLogger } from '#base/log.ts'
import { systemRandom } from '#base/random.ts'
import { MemoryStore } from '#store/memory/memory-store.ts'
import type { Bench } from '../scripts/bench.ts'
import { threeKilobytePod } from './support/three-kilobyte-pod.ts'

const rounds = 20_000

export default async function run(bench: Bench): Promise<void> {
  const shared = { clock: systemClock, random: systemRandom, logger: silentLogger, isEnabled: new FeatureGates().isEnabled }
  const server = new ApiServer({
    ...shared,
    store: new MemoryStore({ clock: systemClock }),
    scheme: new Scheme(builtInKinds.filter(({ stability }) => stability === undefined)),
    authenticator: () => ({ authenticate: () => undefined }),
    authorizer: () => alwaysAllow,
    admissionPlugins: () => [],
    version: {},
    serverAddress: () => '',
  })
  await server.start()
  const { cluster } = server
  const context: AdmissionContext = { ...shared, cluster, authorizer: alwaysAllow, configuration: undefined }
  const chain = new AdmissionChain(admissionPlugins({ enable: ['NodeRestriction'], disable: [] }, context))
  for (const name of ['free', 'restricted', 'limited', 'counted']) {
    const labels =
      name === 'restricted' ? { 'pod-security.kubernetes.io/enforce': 'restricted', 'pod-security.kubernetes.io/warn': 'baseline' } : {}
    await cluster.create(Namespace, { metadata: { name, labels }, spec: {} } as KubernetesObject)
    await cluster.create(ServiceAccount, { metadata: { name: 'default', namespace: name } })
  }
  const limits = [{ type: 'Container', default: { cpu: '1' }, defaultRequest: { cpu: '100m' }, max: { cpu: '2', memory: '1Gi' } }]
  await cluster.create(LimitRange, { metadata: { name: 'l', namespace: 'limited' }, spec: { limits } } as KubernetesObject)
  const hard = { pods: '1M', 'requests.cpu': '1M' }
  await cluster.create(ResourceQuota, { metadata: { name: 'q', namespace: 'counted' }, spec: { hard } } as KubernetesObject)
  const quota = deepCopy(await cluster.getFresh(ResourceQuota, 'counted', 'q')) as V1ResourceQuota
  await cluster.replaceStatus(ResourceQuota, {
    ...quota,
    status: { hard, used: { pods: '0', 'requests.cpu': '0' } },
  } as KubernetesObject)

  const cases: [name: string, namespace: string, most?: number][] = [
    ['a pod through the default plugins', 'free', 20],
    ['the same under the restricted standard', 'restricted'],
    ['the same with a limit range', 'limited'],
    ['the same with a quota, one at a time', 'counted'],
  ]
  for (const [name, namespace, most] of cases) {
    const { median, p99 } = await measured(chain, namespace)
    bench.report({
      case: `${name}, median`,
      figure: median,
      unit: 'us',
      ...(most ? { comparedWith: `at most ${most}`, ratio: median / most } : {}),
    })
    bench.report({ case: `${name}, p99`, figure: p99, unit: 'us' })
  }
  const pods = 5000
  const start = performance.now()
  await Promise.all(Array.from({ length: pods }, () => admitted(chain, requestFor('counted'))))
  bench.report({ case: 'with a quota, 5,000 at once', figure: (pods / (performance.now() - start)) * 1000, unit: 'pods/s' })
  server.stop()
}

async function measured(chain: AdmissionChain, namespace: string): Promise<{ median: number; p99: number }> {
  const times: number[] = []
  const count = namespace === 'counted' ? rounds / 10 : rounds
  for (let round = 0; round < count; round++) {
    const request = requestFor(namespace)
    const start = performance.now()
    await admitted(chain, request)
    times.push((performance.now() - start) * 1000)
  }
  times.sort((one, other) => one - other)
  return { median: times[Math.floor(count / 2)] ?? 0, p99: times[Math.floor(count * 0.99)] ?? 0 }
}

async function admitted(chain: AdmissionChain, request: AdmissionRequest): Promise<void> {
  await chain.mutate(request)
  await chain.validate(request).catch((error: Error) => {
    if (!error.message.includes('violates PodSecurity')) throw error
  })
}

const definition = builtInKinds.find(({ kind, group }) => kind === 'Pod' && group === '') as Kind

function requestFor(namespace: string): AdmissionRequest {
  return {
    operation: 'CREATE',
    definition,
    resource: { group: '', version: 'v1', resource: 'pods' },
    kind: { group: '', version: 'v1', kind: 'Pod' },
    subresource: '',
    namespace,
    name: 'p',
    object: deepCopy(threeKilobytePod(namespace)) as KubernetesObject,
    oldObject: undefined,
    options: {},
    isDryRun: false,
    user: { name: 'admin', groups: ['system:masters'], extra: {} },
    warn() {},
    annotateAudit() {},
    onFinish() {},
  }
}
