import type { V1beta1Ingress } from '#api/extensions/v1beta1/types.gen.ts'
import { legacyVersion } from '#api/meta/legacy-version.ts'
import { ingressResource as ingressV1 } from '#api/networking/v1/ingress.ts'
import type { V1Ingress } from '#api/networking/v1/types.gen.ts'
import { ingressFromV1, ingressToV1 } from '#api/networking/v1beta1/convert-ingress.ts'
import { defaultPathTypes } from '#api/networking/v1beta1/ingress.ts'

export const ingressResource = legacyVersion<V1beta1Ingress, V1Ingress>(ingressV1, {
  group: 'extensions',
  version: 'v1beta1',
  schema: 'io.k8s.api.extensions.v1beta1.Ingress',
  shortNames: [],
  deprecated: { deprecatedIn: '1.14', removedIn: '1.22' },
  defaults: defaultPathTypes,
  toStored: ingressToV1,
  fromStored: ingressFromV1,
})
