import { exported, local, type Project, type ProjectNames } from '#cmd/new/project.ts'
import { inClusterManifest } from '#cmd/new/shared-files.ts'

/** A kind with a store of its own, behind the cluster's API. */
export function apiServerProject(names: ProjectNames): Project {
  const { name, group, kind } = names
  const rules = [
    { apiGroups: ['apiregistration.k8s.io'], resources: ['apiservices'], verbs: ['get', 'create', 'patch'] },
    { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
    { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
    { apiGroups: [''], resources: ['namespaces', 'configmaps'], verbs: ['get', 'list', 'watch'] },
  ]
  return {
    summary: `An extension API server: it serves ${kind} (${group}/v1) from a store of its own.`,
    files: {
      [`src/${name}.ts`]: kindFile(names),
      'src/server.ts': server(names),
      'src/main.ts': main(names),
      [`test/${name}.test.ts`]: tests(names),
      'manifests/apiserver.json': inClusterManifest(names, rules, [{ name: 'https', port: 6443 }]),
    },
  }
}

const kindFile = ({
  group,
  kind,
  singular,
}: ProjectNames) => `import { defineKind, defineServedKind, integer, type KubernetesObject, object, type ValueOf } from 'typernetes'

const address = { group: '${group}', version: 'v1', kind: '${kind}', plural: '${singular}s' }
const schema = object({ spec: object({ size: integer({ minimum: 1, default: 1 }), limit: integer({ default: 10 }) }) })

${exported} type ${kind} = KubernetesObject & ValueOf<typeof schema>

/** What clients take. */
${exported} const ${kind} = defineKind<${kind}>(address)

/** What the server serves. */
${exported} const served = defineServedKind({
  ...address,
  scope: 'Namespaced',
  versions: {
    v1: {
      isStored: true,
      schema: schema.json,
      columns: [{ name: 'Size', type: 'integer', jsonPath: '.spec.size' }],
      // What a schema cannot say.
      validate({ spec }: ${kind}, check) {
        if (spec.size > spec.limit) check.at('spec').at('size').invalid(\`must not be more than the limit, \${spec.limit}\`)
      },
    },
  },
})
`

const server = ({ name }: ProjectNames) => `import { type ExtensionServerOptions, startExtensionServer } from 'typernetes'
import { served } from '${local(name)}'

${exported} const service = { namespace: '${name}', name: '${name}' }

${exported} const startServer = (options: Omit<ExtensionServerOptions, 'kinds' | 'service'>) =>
  startExtensionServer({ ...options, kinds: [served], service })
`

const main = ({ name }: ProjectNames) => `import { openClient, pinoLogger, registerExtensionServer } from 'typernetes'
import { service, startServer } from '${local('server')}'
import { served } from '${local(name)}'

const client = await openClient({ userAgent: '${name}' })
const server = await startServer({ client, port: 6443, dataDir: process.env['DATA_DIR'] ?? 'data', logger: pinoLogger({ level: 'info' }) })
await registerExtensionServer(client, { kinds: [served], service, caBundle: server.caBundle })
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void server.stop().then(() => process.exit(0)))
`

const tests = ({ name, kind }: ProjectNames) => `import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type ExtensionServer, type StartedCluster, startCluster, VirtualClock } from 'typernetes'
import { startServer } from '${local('server', '../src')}'
import { ${kind} } from '${local(name, '../src')}'

const clock = new VirtualClock()
let cluster: StartedCluster
let server: ExtensionServer

before(async () => {
  cluster = await clock.during(startCluster({ clock, simNodes: 0 }))
  server = await clock.during(startServer({ client: cluster.client, host: '127.0.0.1', port: 0, clock }))
})

after(async () => {
  await clock.during(server.stop())
  await clock.during(cluster.stop())
})

const create = (name: string, spec: object) =>
  clock.during(server.objects.create(${kind}, { metadata: { namespace: 'default', name }, spec } as ${kind}))

test('defaults are filled in', async () => {
  assert.deepEqual((await create('first', {})).spec, { size: 1, limit: 10 })
})

test('objects that break a rule are refused', async () => {
  await assert.rejects(create('second', { size: 0 }), /should be greater than or equal to 1/)
  await assert.rejects(create('third', { size: 11 }), /must not be more than the limit, 10/)
})

test('what was taken is there', () => {
  assert.deepEqual(
    server.objects.list(${kind}, 'default').map(({ metadata }) => metadata?.name),
    ['first'],
  )
})
`
