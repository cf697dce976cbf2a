import { sameShape } from '#api/meta/same-shape.ts'
import { ServiceCIDR as ServiceCIDRV1 } from '#api/networking/v1/service-cidr.ts'
import type { V1beta1ServiceCIDR } from '#api/networking/v1beta1/types.gen.ts'
import { defineResource } from '#api/resource.ts'

export const ServiceCIDR = defineResource<V1beta1ServiceCIDR>({
  ...ServiceCIDRV1,
  version: 'v1beta1',
  schema: 'io.k8s.api.networking.v1beta1.ServiceCIDR',
  stability: 'beta',
  storedAs: sameShape(ServiceCIDRV1, 'v1beta1'),
})
