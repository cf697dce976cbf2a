import { legacyVersion } from '#api/meta/legacy-version.ts'
import { ingressResource as ingressV1 } from '#api/networking/v1/ingress.ts'
import type { V1Ingress } from '#api/networking/v1/types.gen.ts'
import { ingressFromV1, ingressToV1 } from '#api/networking/v1beta1/convert-ingress.ts'
import type { V1beta1Ingress } from '#api/networking/v1beta1/types.gen.ts'

export const ingressResource = legacyVersion<V1beta1Ingress, V1Ingress>(ingressV1, {
  version: 'v1beta1',
  deprecated: { deprecatedIn: '1.19', removedIn: '1.22' },
  defaults: defaultPathTypes,
  toStored: ingressToV1,
  fromStored: ingressFromV1,
})

export function defaultPathTypes({ spec }: V1beta1Ingress): void {
  for (const { http } of spec?.rules ?? []) for (const path of http?.paths ?? []) path.pathType ??= 'ImplementationSpecific'
}
