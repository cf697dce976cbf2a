import { sameShape } from '#api/meta/same-shape.ts'
import { IPAddress as IPAddressV1 } from '#api/networking/v1/ip-address.ts'
import type { V1beta1IPAddress } from '#api/networking/v1beta1/types.gen.ts'
import { defineResource } from '#api/resource.ts'

export const IPAddress = defineResource<V1beta1IPAddress>({
  ...IPAddressV1,
  version: 'v1beta1',
  schema: 'io.k8s.api.networking.v1beta1.IPAddress',
  stability: 'beta',
  storedAs: sameShape(IPAddressV1, 'v1beta1'),
})
