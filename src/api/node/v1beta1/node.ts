import { legacyVersion } from '#api/meta/legacy-version.ts'
import { runtimeClassResource } from '#api/node/v1/runtime-class.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const nodeV1beta1: readonly ResourceDefinition[] = [
  legacyVersion(runtimeClassResource, { version: 'v1beta1', deprecated: { deprecatedIn: '1.22', removedIn: '1.25' } }),
]
