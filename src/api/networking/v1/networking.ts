import { Ingress } from '#api/networking/v1/ingress.ts'
import { IngressClass } from '#api/networking/v1/ingress-class.ts'
import { IPAddress } from '#api/networking/v1/ip-address.ts'
import { NetworkPolicy } from '#api/networking/v1/network-policy.ts'
import { ServiceCIDR } from '#api/networking/v1/service-cidr.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const networkingV1: readonly ResourceDefinition[] = [Ingress, IngressClass, IPAddress, NetworkPolicy, ServiceCIDR]
