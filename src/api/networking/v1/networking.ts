import { ingressResource } from '#api/networking/v1/ingress.ts'
import { ingressClassResource } from '#api/networking/v1/ingress-class.ts'
import { ipAddressResource } from '#api/networking/v1/ip-address.ts'
import { networkPolicyResource } from '#api/networking/v1/network-policy.ts'
import { serviceCIDRResource } from '#api/networking/v1/service-cidr.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const networkingV1: readonly ResourceDefinition[] = [
  ingressResource,
  ingressClassResource,
  ipAddressResource,
  networkPolicyResource,
  serviceCIDRResource,
]
