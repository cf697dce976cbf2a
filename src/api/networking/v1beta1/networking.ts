import { legacyVersion } from '#api/meta/legacy-version.ts'
import { IngressClass as IngressClassV1 } from '#api/networking/v1/ingress-class.ts'
import { Ingress } from '#api/networking/v1beta1/ingress.ts'
import { IPAddress } from '#api/networking/v1beta1/ip-address.ts'
import { ServiceCIDR } from '#api/networking/v1beta1/service-cidr.ts'
import type { ResourceDefinition } from '#api/resource.ts'

const IngressClass = legacyVersion(IngressClassV1, { version: 'v1beta1', deprecated: { deprecatedIn: '1.19', removedIn: '1.22' } })

export const networkingV1beta1: readonly ResourceDefinition[] = [IPAddress, Ingress, IngressClass, ServiceCIDR]
