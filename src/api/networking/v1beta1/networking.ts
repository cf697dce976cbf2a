import { legacyVersion } from '#api/meta/legacy-version.ts'
import { ingressClassResource as ingressClassV1 } from '#api/networking/v1/ingress-class.ts'
import { ingressResource } from '#api/networking/v1beta1/ingress.ts'
import { ipAddressResource } from '#api/networking/v1beta1/ip-address.ts'
import { serviceCIDRResource } from '#api/networking/v1beta1/service-cidr.ts'
import type { ResourceDefinition } from '#api/resource.ts'

const ingressClassResource = legacyVersion(ingressClassV1, { version: 'v1beta1', deprecated: { deprecatedIn: '1.19', removedIn: '1.22' } })

export const networkingV1beta1: readonly ResourceDefinition[] = [
  ipAddressResource,
  ingressResource,
  ingressClassResource,
  serviceCIDRResource,
]
