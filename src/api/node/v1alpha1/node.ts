import { legacyVersion } from '#api/meta/legacy-version.ts'
import { runtimeClassResource as runtimeClassV1 } from '#api/node/v1/runtime-class.ts'
import type { V1RuntimeClass } from '#api/node/v1/types.gen.ts'
import type { V1alpha1RuntimeClass } from '#api/node/v1alpha1/types.gen.ts'
import type { ResourceDefinition } from '#api/resource.ts'
import { defined } from '#base/defined.ts'

/** Had a spec, as other kinds have. */
const runtimeClassResource = legacyVersion<V1alpha1RuntimeClass, V1RuntimeClass>(runtimeClassV1, {
  version: 'v1alpha1',
  deprecated: { deprecatedIn: '1.20', removedIn: '1.24' },
  toStored({ spec, ...shared }) {
    const { runtimeHandler = '', ...others } = spec ?? {}
    return { ...shared, handler: runtimeHandler, ...others }
  },
  fromStored: ({ handler, overhead, scheduling, ...shared }) => ({
    ...shared,
    spec: { runtimeHandler: handler, ...defined({ overhead, scheduling }) },
  }),
})

export const nodeV1alpha1: readonly ResourceDefinition[] = [runtimeClassResource]
