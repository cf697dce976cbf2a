import { IPAddress } from '#api/networking/v1beta1/ip-address.ts'
import { ServiceCIDR } from '#api/networking/v1beta1/service-cidr.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const networkingV1beta1: readonly ResourceDefinition[] = [IPAddress, ServiceCIDR]
