import { legacyVersion } from '#api/meta/legacy-version.ts'
import { RuntimeClass } from '#api/node/v1/runtime-class.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const nodeV1beta1: readonly ResourceDefinition[] = [
  legacyVersion(RuntimeClass, { version: 'v1beta1', deprecated: { deprecatedIn: '1.22', removedIn: '1.25' } }),
]
