import { sameShape } from '#api/meta/same-shape.ts'
import { serviceCIDRResource as serviceCIDRV1 } from '#api/networking/v1/service-cidr.ts'
import { ServiceCIDR } from '#api/networking/v1beta1/kinds.gen.ts'
import { defineResource } from '#api/resource.ts'

export const serviceCIDRResource = defineResource(ServiceCIDR, {
  ...serviceCIDRV1,
  storedAs: sameShape(serviceCIDRV1, 'v1beta1'),
})
