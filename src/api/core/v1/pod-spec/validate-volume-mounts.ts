/** Judges how a container uses the volumes of its pod. */
import type { AnyContainer } from '#api/core/v1/pod-spec/all-containers.ts'
import { hasBackstep, validateDescendingPath } from '#api/core/v1/pod-spec/paths.ts'
import type { V1Volume, V1VolumeDevice, V1VolumeMount } from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'

/** The pod's valid volumes by name. */
export type VolumesByName = ReadonlyMap<string, V1Volume>

/** `check` stands at the list, which is where upstream reports most errors of a mount's options. */
export function validateVolumeMounts(container: AnyContainer, volumes: VolumesByName, check: Check): void {
  const mounts = container.volumeMounts
  if (mounts === undefined) return
  const mountPaths = new Set<string>()
  for (let index = 0; index < mounts.length; index++) {
    const mount = mounts[index] as V1VolumeMount
    if (!mount.name) check.at(index).at('name').required()
    if (!volumes.has(mount.name ?? ''))
      check
        .at(index)
        .at('name')
        .notFound(mount.name ?? '')
    if (!mount.mountPath) check.at(index).at('mountPath').required()
    const mountPath = mount.mountPath ?? ''
    if (mountPaths.has(mountPath)) check.at(index).at('mountPath').invalid(mountPath, 'must be unique')
    mountPaths.add(mountPath)
    if (container.volumeDevices) validateNotADevice(mount, container.volumeDevices, check.at(index))
    if (mount.subPath) validateDescendingPath(mount.subPath, check.at('subPath'))
    if (mount.subPathExpr) {
      if (mount.subPath) check.at(index).at('subPathExpr').invalid(mount.subPathExpr, 'subPathExpr and subPath are mutually exclusive')
      validateDescendingPath(mount.subPathExpr, check.at('subPathExpr'))
    }
    if (mount.mountPropagation !== undefined) validatePropagation(mount.mountPropagation, container, check.at('mountPropagation'))
    if (mount.recursiveReadOnly !== undefined) validateRecursiveReadOnly(mount, check.at('recursiveReadOnly'))
  }
}

function validateNotADevice(mount: V1VolumeMount, devices: readonly V1VolumeDevice[], check: Check): void {
  if (devices.some((device) => device.name === mount.name)) {
    check.at('name').invalid(mount.name, 'must not already exist in volumeDevices')
  }
  if (lastPaths(devices, (device) => device.devicePath).includes(mount.mountPath)) {
    check.at('mountPath').invalid(mount.mountPath, 'must not already exist as a path in volumeDevices')
  }
}

/** Of items with one name only the last counts: upstream keeps them in a map. */
function lastPaths<T extends { name: string }>(items: readonly T[], pathOf: (item: T) => string): string[] {
  return [...new Map(items.map((item) => [item.name, pathOf(item)])).values()]
}

const propagations = ['Bidirectional', 'HostToContainer', 'None']

function validatePropagation(propagation: string, container: AnyContainer, check: Check): void {
  if (!propagations.includes(propagation)) check.notSupported(propagation, propagations)
  if (propagation === 'Bidirectional' && container.securityContext?.privileged !== true) {
    check.forbidden('Bidirectional mount propagation is available only to privileged containers')
  }
}

function validateRecursiveReadOnly(mount: V1VolumeMount, check: Check): void {
  switch (mount.recursiveReadOnly) {
    case 'Disabled':
      return
    case 'Enabled':
    case 'IfPossible':
      if (!mount.readOnly) check.forbidden('may only be specified when readOnly is true')
      if (mount.mountPropagation !== undefined && mount.mountPropagation !== 'None') {
        check.forbidden('may only be specified when mountPropagation is None or not specified')
      }
      return
    default:
      check.notSupported(mount.recursiveReadOnly, ['Disabled', 'Enabled', 'IfPossible'])
  }
}

export function validateVolumeDevices(container: AnyContainer, volumes: VolumesByName, check: Check): void {
  const devices = container.volumeDevices
  if (devices === undefined) return
  const mounts = container.volumeMounts ?? []
  const mountPaths = lastPaths(mounts, (mount) => mount.mountPath)
  const names = new Set<string>()
  const paths = new Set<string>()
  for (let index = 0; index < devices.length; index++) {
    const { name = '', devicePath = '' } = devices[index] as V1VolumeDevice
    const at = check.at(index)
    const volume = volumes.get(name)
    if (name === '') at.at('name').required()
    if (names.has(name)) at.at('name').invalid(name, 'must be unique')
    if (volume && !volume.persistentVolumeClaim && !volume.ephemeral) {
      at.at('name').invalid(name, 'can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode')
    }
    if (!volume) at.at('name').notFound(name)
    if (devicePath === '') at.at('devicePath').required()
    if (paths.has(devicePath)) at.at('devicePath').invalid(devicePath, 'must be unique')
    if (hasBackstep(devicePath)) at.at('devicePath').invalid(devicePath, "can not contain backsteps ('..')")
    else paths.add(devicePath)
    if (mounts.some((mount) => mount.name === name)) at.at('name').invalid(name, 'must not already exist in volumeMounts')
    if (mountPaths.includes(devicePath)) at.at('devicePath').invalid(devicePath, 'must not already exist as a path in volumeMounts')
    if (name !== '') names.add(name)
  }
}
