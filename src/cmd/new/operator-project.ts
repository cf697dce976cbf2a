import { exported, local, type Project, type ProjectNames } from '#cmd/new/project.ts'
import { definitionRule, eventRule, inClusterManifest, leaseRule } from '#cmd/new/shared-files.ts'

/** A kind that asks for a Deployment, and the controller that keeps it. */
export function operatorProject(names: ProjectNames): Project {
  const { name, group, kind, singular } = names
  const rules = [
    { apiGroups: [group], resources: ['*'], verbs: ['get', 'list', 'watch', 'update', 'patch'] },
    { apiGroups: ['apps'], resources: ['deployments'], verbs: ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'] },
    ...[definitionRule, leaseRule, eventRule],
  ]
  const example = { apiVersion: `${group}/v1`, kind, metadata: { name: 'example', namespace: 'default' }, spec: { image: 'nginx:1' } }
  return {
    summary: `An operator: a ${kind} (${group}/v1) asks for an image and a number of replicas, and gets a Deployment.`,
    files: {
      [`src/${name}.ts`]: definition(names),
      'src/controller.ts': controller(names),
      'src/main.ts': main(names),
      [`test/${name}.test.ts`]: tests(names),
      'manifests/operator.json': inClusterManifest(names, rules, [{ name: 'health', port: 8081 }]),
      [`manifests/examples/${singular}.json`]: `${JSON.stringify(example, null, 2)}\n`,
    },
  }
}

const definition = ({ group, kind }: ProjectNames) => `import {
  type CustomObjectOf,
  conditions,
  defineCustomResource,
  integer,
  object,
  optional,
  string,
} from 'typernetes'

${exported} const ${kind} = defineCustomResource({
  group: '${group}',
  version: 'v1',
  kind: '${kind}',
  spec: object({
    image: string({ minLength: 1 }),
    replicas: integer({ minimum: 0, default: 1 }),
  }),
  status: object({ readyReplicas: optional(integer()), conditions: conditions() }),
  columns: [
    { name: 'Replicas', type: 'integer', jsonPath: '.spec.replicas' },
    { name: 'Ready', type: 'integer', jsonPath: '.status.readyReplicas' },
  ],
})

${exported} type ${kind} = CustomObjectOf<typeof ${kind}>
`

const controller = ({
  name,
  kind,
  singular,
}: ProjectNames) => `import { Deployment, defineController, isConditionTrue, ownedObjects, setCondition, writeStatus } from 'typernetes'
import { ${kind} } from '${local(name)}'

${exported} const controller = defineController({
  name: '${name}',
  for: ${kind},
  owns: [Deployment],

  // Told which object to look at, never what happened. May be interrupted anywhere; repeated when it throws.
  async reconcile(object, context) {
    const { client, clock, events } = context
    const { image, replicas } = object.spec
    const labels = { '${singular}': object.metadata.name ?? '' }
    const owned = ownedObjects({ owner: object, kind: ${kind}, context })
    const deployment = await owned.apply(Deployment, {
      metadata: { name: \`\${object.metadata.name}-${singular}\` },
      spec: {
        replicas,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'main', image }] } },
      },
    })
    const readyReplicas = deployment.status?.readyReplicas ?? 0
    const isReady = readyReplicas >= replicas
    const wasReady = isConditionTrue(object.status?.conditions, 'Ready')
    const condition = { type: 'Ready', status: isReady ? 'True' : 'False', reason: isReady ? 'AllReady' : 'Waiting' }
    await writeStatus(client, ${kind}, object, {
      readyReplicas,
      conditions: setCondition(object.status?.conditions, condition, clock),
    })
    if (isReady && !wasReady) events.normal(${kind}, object, 'Ready', \`All \${replicas} replicas are ready\`)
  },
})
`

const main = ({ name, kind }: ProjectNames) => `import { openClient, pinoLogger, runOperator } from 'typernetes'
import { controller } from '${local('controller')}'
import { ${kind} } from '${local(name)}'

using client = await openClient({ userAgent: '${name}' })
const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop.abort())
await runOperator({
  name: '${name}',
  client,
  resources: [${kind}],
  controllers: [controller],
  leaderElection: { namespace: client.namespace },
  health: { port: 8081 },
  logger: pinoLogger({ level: 'info' }),
  signal: stop.signal,
})
`

const tests = ({ name, kind, singular }: ProjectNames) => `import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Client, Deployment, isNotFound, runOperator, type StartedCluster, startCluster, VirtualClock } from 'typernetes'
import { controller } from '${local('controller', '../src')}'
import { ${kind} } from '${local(name, '../src')}'

const clock = new VirtualClock()
const stop = new AbortController()
let cluster: StartedCluster
let client: Client
let running: Promise<void>

before(async () => {
  cluster = await clock.during(startCluster({ clock, simNodes: 2 }))
  client = cluster.client
  const ready = Promise.withResolvers<void>()
  running = runOperator({
    name: '${name}',
    client,
    resources: [${kind}],
    controllers: [controller],
    clock,
    signal: stop.signal,
    onReady: ready.resolve,
  })
  await clock.during(Promise.race([ready.promise, running]))
})

after(async () => {
  stop.abort()
  await clock.during(Promise.allSettled([running]))
  await clock.during(cluster.stop())
})

const current = () => client.get(${kind}, 'default', 'example')

test('it gets its replicas, and says when they are ready', async () => {
  await client.create(${kind}, ${kind}.make({ metadata: { namespace: 'default', name: 'example' }, spec: { image: 'nginx:1', replicas: 2 } }))
  await clock.advanceUntil(async () => (await current()).status?.readyReplicas === 2)
  assert.equal((await current()).status?.conditions?.[0]?.status, 'True')
})

test('what somebody else changes is put back', async () => {
  await client.patch(Deployment, { namespace: 'default', name: 'example-${singular}' }, { spec: { replicas: 5 } })
  await clock.advance({ minutes: 1 })
  assert.equal((await client.get(Deployment, 'default', 'example-${singular}')).spec.replicas, 2)
})

test('with it goes what it owns', async () => {
  await client.delete(${kind}, { namespace: 'default', name: 'example' })
  await clock.advanceUntil(() => client.get(Deployment, 'default', 'example-${singular}').then(() => false, isNotFound))
})
`
