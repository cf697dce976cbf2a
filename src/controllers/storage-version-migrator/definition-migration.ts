/** What a custom resource's definition says while its objects are migrated, and which versions are stored once they are. */

import { CustomResourceDefinition } from '#api/apiextensions/v1/kinds.gen.ts'
import type { V1CustomResourceDefinition } from '#api/apiextensions/v1/types.gen.ts'
import { findCondition } from '#api/meta/find-condition.ts'
import { ignoreNotFound } from '#api/meta/server-response.ts'
import { formatTime } from '#api/meta/time.ts'
import type { V1beta1StorageVersionMigration } from '#api/storagemigration/v1beta1/types.gen.ts'
import { defined } from '#base/defined.ts'
import type { ReconcileContext } from '#controllers/runtime/define-controller.ts'

const conditionType = 'StorageMigrating'

export async function beginDefinition(migration: V1beta1StorageVersionMigration, context: ReconcileContext): Promise<void> {
  const definition = await definitionOf(migration, context)
  if (definition === undefined) return
  await tell(definition, 'True', 'MigrationRunning', `Migration ${migration.metadata.name} is running`, undefined, context)
}

export async function finishDefinition(
  migration: V1beta1StorageVersionMigration,
  isDone: boolean,
  context: ReconcileContext,
): Promise<void> {
  const definition = await definitionOf(migration, context)
  if (definition === undefined) return
  if (!isDone) return tell(definition, 'False', 'MigrationFailed', 'The migration has failed', undefined, context)
  const condition = findCondition(definition.status?.conditions, conditionType)
  // A definition that changed meanwhile may have another storage version by now.
  const isSame = condition?.observedGeneration === definition.metadata.generation
  const storage = definition.spec.versions.find((version) => version.storage)?.name
  const what = isSame
    ? ' and the stored versions have been updated'
    : ' but the stored versions have not been updated due to a generation mismatch'
  const stored = isSame && storage !== undefined ? [storage] : undefined
  await tell(definition, 'False', 'MigrationSucceeded', `The migration has succeeded${what}`, stored, context)
}

/** Undefined for resources that are no custom ones. */
async function definitionOf(
  { spec }: V1beta1StorageVersionMigration,
  { client }: ReconcileContext,
): Promise<V1CustomResourceDefinition | undefined> {
  const { group, resource } = spec.resource
  return client.get(CustomResourceDefinition, '', `${resource}.${group || 'core'}`).catch(ignoreNotFound)
}

async function tell(
  { metadata }: V1CustomResourceDefinition,
  status: 'True' | 'False',
  reason: string,
  message: string,
  storedVersions: string[] | undefined,
  { client, clock }: ReconcileContext,
): Promise<void> {
  const { name = '', resourceVersion = '', generation = 0 } = metadata
  const condition = {
    type: conditionType,
    status,
    reason,
    message,
    lastTransitionTime: formatTime(clock.now()),
    observedGeneration: generation,
  }
  await client.apply(
    CustomResourceDefinition,
    {
      metadata: { name, resourceVersion },
      status: { conditions: [condition], ...defined({ storedVersions }) },
    },
    { fieldManager: 'storage-version-migrator-controller', force: true, subresource: 'status' },
  )
}
