import type { ResourceDefinition } from '#api/resource.ts'
import { storageVersionMigrationResource } from '#api/storagemigration/v1beta1/storage-version-migration.ts'

export const storagemigrationV1beta1: readonly ResourceDefinition[] = [storageVersionMigrationResource]
