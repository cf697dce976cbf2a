import { sameShape } from '#api/meta/same-shape.ts'
import { ipAddressResource as ipAddressV1 } from '#api/networking/v1/ip-address.ts'
import { IPAddress } from '#api/networking/v1beta1/kinds.gen.ts'
import { defineResource } from '#api/resource.ts'

export const ipAddressResource = defineResource(IPAddress, {
  ...ipAddressV1,
  storedAs: sameShape(ipAddressV1, 'v1beta1'),
})
