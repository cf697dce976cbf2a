import { exported, local, type Project, type ProjectNames } from '#cmd/new/project.ts'
import { inClusterManifest } from '#cmd/new/shared-files.ts'

/** A webhook that changes pods, and one that validates them. */
export function webhookProject(names: ProjectNames): Project {
  const rules = [
    {
      apiGroups: ['admissionregistration.k8s.io'],
      resources: ['mutatingwebhookconfigurations', 'validatingwebhookconfigurations'],
      verbs: ['get', 'create', 'patch'],
    },
    { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list', 'watch', 'create', 'update'] },
  ]
  return {
    summary: 'Admission webhooks: pods without a team get one, and images must name a version.',
    files: {
      'src/webhooks.ts': webhooks(names),
      'src/main.ts': main(names),
      'test/webhooks.test.ts': tests(names),
      'manifests/webhooks.json': inClusterManifest(names, rules, [{ name: 'https', port: 9443 }]),
    },
  }
}

const webhooks = ({ group, name }: ProjectNames) => `import { defineMutatingWebhook, defineValidatingWebhook, Pod } from 'typernetes'

/** Pods of the webhooks' own namespace, and of the system, are not their business: they must start while no webhook answers. */
const namespaceSelector = {
  matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: ['${name}', 'kube-system'] }],
}

${exported} const teamLabel = defineMutatingWebhook({
  name: 'team.${name}.${group}',
  for: Pod,
  operations: ['CREATE'],
  namespaceSelector,
  mutate(pod) {
    pod.metadata.labels = { team: 'none', ...pod.metadata.labels }
  },
})

${exported} const imageVersions = defineValidatingWebhook({
  name: 'images.${name}.${group}',
  for: Pod,
  namespaceSelector,
  validate(pod, { warn }) {
    const images = pod.spec.containers.map(({ image }) => image ?? '')
    if (images.some((image) => image.endsWith(':latest') || !/[:@]/.test(image))) return 'name the version of each image'
    if (images.some((image) => !image.includes('@'))) warn('a digest would hold better than a tag')
    return undefined
  },
})

${exported} const admission = [teamLabel, imageVersions]
`

const main = ({ name }: ProjectNames) => `import { openClient, pinoLogger, runOperator } from 'typernetes'
import { admission } from '${local('webhooks')}'

using client = await openClient({ userAgent: '${name}' })
const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop.abort())
// The certificate is made, kept in a secret, renewed, and told to the API server by itself.
await runOperator({
  name: '${name}',
  client,
  webhooks: { admission, reachedBy: { service: { namespace: '${name}', name: '${name}' } } },
  health: { port: 8081 },
  logger: pinoLogger({ level: 'info' }),
  signal: stop.signal,
})
`

const tests = ({ name }: ProjectNames) => `import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Client, Pod, runOperator, type StartedCluster, startCluster, VirtualClock } from 'typernetes'
import { admission } from '${local('webhooks', '../src')}'

// TLS looks at the machine's own time, hence virtual time begins now.
const clock = new VirtualClock(Date.now())
const stop = new AbortController()
let cluster: StartedCluster
let client: Client
let running: Promise<void>

before(async () => {
  cluster = await clock.during(startCluster({ clock, simNodes: 0 }))
  client = cluster.client
  const ready = Promise.withResolvers<void>()
  const webhooks = { admission, reachedBy: { host: '127.0.0.1' }, host: '127.0.0.1', port: 0 }
  running = runOperator({ name: '${name}', client, webhooks, clock, signal: stop.signal, onReady: ready.resolve })
  await clock.during(Promise.race([ready.promise, running]))
})

after(async () => {
  stop.abort()
  await clock.during(Promise.allSettled([running]))
  await clock.during(cluster.stop())
})

const create = (name: string, image: string, labels = {}) =>
  clock.during(
    client.create(Pod, { metadata: { namespace: 'default', name, labels }, spec: { containers: [{ name: 'main', image }] } }),
  )

test('a pod without a team gets one, others keep theirs', async () => {
  assert.equal((await create('first', 'nginx:1')).metadata.labels?.['team'], 'none')
  assert.equal((await create('second', 'nginx:1', { team: 'blue' })).metadata.labels?.['team'], 'blue')
})

test('an image without a version is refused', async () => {
  await assert.rejects(create('third', 'nginx'), /denied the request: name the version of each image/)
})
`
