/** v1beta1 and v1: a request had its wishes beside its name, a device its facts under `basic`, a slice empty texts for what is unset. */

import type {
  V1Device,
  V1DeviceRequest,
  V1ExactDeviceRequest,
  V1ResourceClaimSpec,
  V1ResourceSliceSpec,
} from '#api/resource/v1/types.gen.ts'
import type {
  V1beta1Device,
  V1beta1DeviceRequest,
  V1beta1ResourceClaimSpec,
  V1beta1ResourceSliceSpec,
} from '#api/resource/v1beta1/types.gen.ts'
import { defined } from '#base/defined.ts'

export function claimSpecToV1(spec: V1beta1ResourceClaimSpec): V1ResourceClaimSpec {
  const { devices } = spec
  return devices?.requests
    ? ({ ...spec, devices: { ...devices, requests: devices.requests.map(requestToV1) } } as V1ResourceClaimSpec)
    : (spec as V1ResourceClaimSpec)
}

export function claimSpecFromV1(spec: V1ResourceClaimSpec): V1beta1ResourceClaimSpec {
  const { devices } = spec
  return devices?.requests
    ? ({ ...spec, devices: { ...devices, requests: devices.requests.map(requestFromV1) } } as V1beta1ResourceClaimSpec)
    : (spec as V1beta1ResourceClaimSpec)
}

function requestToV1({ name, firstAvailable, ...wanted }: V1beta1DeviceRequest): V1DeviceRequest {
  const request: V1DeviceRequest = { name }
  const { deviceClassName, selectors, allocationMode, count, adminAccess, tolerations, capacity } = wanted
  if (deviceClassName || selectors || allocationMode || count || adminAccess !== undefined || tolerations || capacity) {
    request.exactly = wanted as V1ExactDeviceRequest
  }
  if (firstAvailable) request.firstAvailable = firstAvailable
  return request
}

function requestFromV1({ name, exactly, firstAvailable }: V1DeviceRequest): V1beta1DeviceRequest {
  return { name, ...exactly, ...defined({ firstAvailable }) }
}

export function sliceSpecToV1({ devices, nodeName, allNodes, ...shared }: V1beta1ResourceSliceSpec): V1ResourceSliceSpec {
  const spec = { ...shared } as V1ResourceSliceSpec
  if (nodeName) spec.nodeName = nodeName
  if (allNodes) spec.allNodes = allNodes
  if (devices) spec.devices = devices.map(({ name, basic }: V1beta1Device): V1Device => ({ name, ...basic }))
  return spec
}

export function sliceSpecFromV1({ devices, ...shared }: V1ResourceSliceSpec): V1beta1ResourceSliceSpec {
  const spec = { ...shared } as V1beta1ResourceSliceSpec
  if (devices) spec.devices = devices.map(({ name, ...basic }: V1Device): V1beta1Device => ({ name, basic }))
  return spec
}
