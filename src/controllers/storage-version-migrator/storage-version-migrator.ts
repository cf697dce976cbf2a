import { CustomResourceDefinition } from '#api/apiextensions/v1/kinds.gen.ts'
import { isConditionTrue } from '#api/meta/find-condition.ts'
import { isAlreadyExists, isConflict, isNotFound } from '#api/meta/server-response.ts'
import { StatusError } from '#api/meta/status-error.ts'
import { parseTime } from '#api/meta/time.ts'
import { StorageVersionMigration } from '#api/storagemigration/v1beta1/kinds.gen.ts'
import type { V1beta1StorageVersionMigration } from '#api/storagemigration/v1beta1/types.gen.ts'
import { errorMessage } from '#base/error-message.ts'
import { type DiscoveredResource, discover, preferredResources } from '#client/discovery.ts'
import { keyOf } from '#client/informer/object-store.ts'
import { isOlderVersion } from '#client/resource-version.ts'
import { setCondition } from '#controllers/kit/set-condition.ts'
import { defineController, expectedFailure, type ReconcileContext } from '#controllers/runtime/define-controller.ts'
import { on } from '#controllers/runtime/triggers.ts'
import { whereServed } from '#controllers/runtime/where-served.ts'
import { beginDefinition, finishDefinition } from '#controllers/storage-version-migrator/definition-migration.ts'
import { byAge } from '#controllers/workload/pods.ts'

/** How long a resource may take to be served. */
const patienceMs = 60_000
const verbs = ['update', 'patch', 'list'] as const

/** Writes every object of a resource anew, so that it lies in the store as its storage version has it today. */
export const storageVersionMigrator = whereServed(
  StorageVersionMigration,
  defineController({
    name: 'storage-version-migrator-controller',
    alias: 'svm',
    queueName: 'storage-version-migrator-controller',
    serviceAccount: 'storage-version-migrator-controller',
    isNeeded: ({ isEnabled }) => isEnabled('StorageVersionMigrator'),
    for: StorageVersionMigration,
    reads: [CustomResourceDefinition],
    // Of several for a resource one runs at a time: its end is the next one's turn.
    watches: [
      on(StorageVersionMigration, (migration, cache) =>
        cache
          .list(StorageVersionMigration)
          .filter((each) => isSameResource(each, migration))
          .map(keyOf),
      ),
    ],

    async reconcile(migration, context) {
      if (isOver(migration)) return tidyUp(migration, context)
      if (!isRunning(migration)) return begin(migration, context)
      const resource = await resourceOf(migration, context)
      if (typeof resource === 'string') return fail(migration, resource, context)
      const { resourceVersion } = migration.status ?? {}
      if (!resourceVersion) await writeStatus(migration, { resourceVersion: await latestVersion(resource, context) }, context)
      else await migrate(migration, resource, resourceVersion, context)
    },
  }),
)

const isSameResource = ({ spec: { resource } }: V1beta1StorageVersionMigration, other: V1beta1StorageVersionMigration): boolean =>
  resource.group === other.spec.resource.group && resource.resource === other.spec.resource.resource

const isRunning = ({ status }: V1beta1StorageVersionMigration): boolean => isConditionTrue(status?.conditions, 'Running')
const isOver = ({ status }: V1beta1StorageVersionMigration): boolean =>
  isConditionTrue(status?.conditions, 'Succeeded') || isConditionTrue(status?.conditions, 'Failed')

async function begin(migration: V1beta1StorageVersionMigration, context: ReconcileContext): Promise<void> {
  const waiting = context.cache.list(StorageVersionMigration).filter((each) => isSameResource(each, migration))
  if (waiting.some(isRunning)) return
  const [first] = waiting.filter((each) => !isOver(each)).toSorted(byAge)
  if (first !== undefined && first.metadata.uid !== migration.metadata.uid) return
  await beginDefinition(migration, context)
  await writeCondition(
    migration,
    { type: 'Running', status: 'True', reason: 'MigrationRunning', message: 'The migration is running' },
    context,
  )
}

async function tidyUp(migration: V1beta1StorageVersionMigration, context: ReconcileContext): Promise<void> {
  if (!isRunning(migration)) return
  await finishDefinition(migration, isConditionTrue(migration.status?.conditions, 'Succeeded'), context)
  await writeCondition(
    migration,
    { type: 'Running', status: 'False', reason: 'MigrationCompleted', message: 'Migration completed' },
    context,
  )
}

/** As the server serves it, or why it cannot be migrated. */
async function resourceOf(
  { metadata, spec }: V1beta1StorageVersionMigration,
  { client, clock }: ReconcileContext,
): Promise<DiscoveredResource | string> {
  const { group, resource: plural } = spec.resource
  const { resources } = await discover(client)
  const served = resources.filter((each) => each.group === group && each.plural === plural)
  if (served.length === 0) {
    const ageMs = clock.now() - (metadata.creationTimestamp ? parseTime(metadata.creationTimestamp) : 0)
    if (ageMs < patienceMs) throw expectedFailure(`${plural}.${group} is not served yet`)
    return 'resource does not exist in discovery'
  }
  return preferredResources(served, verbs)[0] ?? `resource "${plural}.${group}" does not support discovery operations: [${verbs.join(' ')}]`
}

/** Of a namespace that cannot exist, where there are namespaces: nothing has to be read for it. */
async function latestVersion(resource: DiscoveredResource, { client }: ReconcileContext): Promise<string> {
  const { group, version, plural, scope } = resource
  const prefix = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
  const place = scope === 'Namespaced' ? `${prefix}/namespaces/@fake:svm_ns/${plural}` : `${prefix}/${plural}`
  const list = JSON.parse(await client.raw(`${place}?limit=1`)) as { metadata?: { resourceVersion?: string } }
  return list.metadata?.resourceVersion ?? ''
}

async function migrate(
  migration: V1beta1StorageVersionMigration,
  resource: DiscoveredResource,
  resourceVersion: string,
  context: ReconcileContext,
): Promise<void> {
  const { client } = context
  const { items } = await client.list(resource, { limit: 500 })
  for (const { metadata = {} } of items) {
    // Whatever was written later is stored as it should be.
    if (isOlderVersion(resourceVersion, metadata.resourceVersion ?? '')) continue
    const { namespace, name = '', uid = '', resourceVersion: version = '' } = metadata
    const place = namespace === undefined ? { name } : { namespace, name }
    try {
      await client.apply(
        resource,
        { metadata: { ...place, uid, resourceVersion: version } },
        { fieldManager: 'storage-version-migrator-controller' },
      )
    } catch (error) {
      // Written, or gone, or both: nothing is left to do.
      if (isConflict(error) || isNotFound(error) || isAlreadyExists(error)) continue
      if (!(error instanceof StatusError) || isPassing(error)) throw error
      return fail(migration, errorMessage(error), context)
    }
  }
  await writeCondition(migration, { type: 'Succeeded', status: 'True', reason: 'StorageVersionMigrationSucceeded' }, context)
}

const isPassing = ({ status }: StatusError): boolean => [408, 429, 500, 503, 504].includes(status.code ?? 0)

async function fail(migration: V1beta1StorageVersionMigration, why: string, context: ReconcileContext): Promise<void> {
  const message = `migration encountered unhandled error: ${why}`
  await writeCondition(migration, { type: 'Failed', status: 'True', reason: 'StorageVersionMigrationFailed', message }, context)
}

const writeCondition = (
  migration: V1beta1StorageVersionMigration,
  condition: { type: string; status: 'True' | 'False'; reason: string; message?: string },
  context: ReconcileContext,
): Promise<void> => writeStatus(migration, { conditions: setCondition(migration.status?.conditions, condition, context.clock) }, context)

async function writeStatus(
  migration: V1beta1StorageVersionMigration,
  changed: Partial<NonNullable<V1beta1StorageVersionMigration['status']>>,
  { client }: ReconcileContext,
): Promise<void> {
  await client.updateStatus(StorageVersionMigration, { ...migration, status: { ...migration.status, ...changed } })
}
