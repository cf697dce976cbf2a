/** Validates how a container uses the volumes of its pod. */
import type { AnyContainer } from '#api/core/v1/pod-spec/all-containers.ts'
import { hasBackstep, validateDescendingPath } from '#api/core/v1/pod-spec/paths.ts'
import type { V1Volume, V1VolumeDevice, V1VolumeMount } from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'

/** The pod's valid volumes by name. */
export type VolumesByName = ReadonlyMap<string, V1Volume>

/** `check` stands at the list, which is where upstream reports most errors of a mount's options. */
export function validateVolumeMounts(container: AnyContainer, volumes: VolumesByName, check: Check<V1VolumeMount[] | undefined>): void {
  const mounts = container.volumeMounts
  if (mounts === undefined) return
  const mountPaths = new Set<string>()
  const devices = container.volumeDevices && takenBy(container.volumeDevices, (device) => device.devicePath)
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
    if (mountPaths.has(mountPath)) check.at(index).at('mountPath').invalid('must be unique', mountPath)
    mountPaths.add(mountPath)
    if (devices) validateNotADevice(check.at(index).with(mount), devices)
    if (mount.subPath) validateDescendingPath(check.dynamic('subPath').with(mount.subPath))
    if (mount.subPathExpr) {
      if (mount.subPath) check.at(index).at('subPathExpr').invalid('subPathExpr and subPath are mutually exclusive', mount.subPathExpr)
      validateDescendingPath(check.dynamic('subPathExpr').with(mount.subPathExpr))
    }
    if (mount.mountPropagation !== undefined) validatePropagation(mount.mountPropagation, container, check.dynamic('mountPropagation'))
    if (mount.recursiveReadOnly !== undefined) validateRecursiveReadOnly(mount, check.dynamic('recursiveReadOnly'))
  }
}

function validateNotADevice(check: Check<V1VolumeMount>, devices: Taken): void {
  const mount = check.value
  if (devices.names.has(mount.name)) {
    check.at('name').invalid('must not already exist in volumeDevices')
  }
  if (devices.paths.has(mount.mountPath)) {
    check.at('mountPath').invalid('must not already exist as a path in volumeDevices')
  }
}

type Taken = { readonly names: ReadonlySet<string>; readonly paths: ReadonlySet<string> }

/** Of items with one name only the path of the last counts: upstream keeps them in a map. */
function takenBy<T extends { name: string }>(items: readonly T[], pathOf: (item: T) => string): Taken {
  const pathOfName = new Map(items.map((item) => [item.name, pathOf(item)]))
  return { names: new Set(pathOfName.keys()), paths: new Set(pathOfName.values()) }
}

const propagations = ['Bidirectional', 'HostToContainer', 'None']

function validatePropagation(propagation: string, container: AnyContainer, check: Check<unknown>): void {
  if (!propagations.includes(propagation)) check.notSupported(propagations, propagation)
  if (propagation === 'Bidirectional' && container.securityContext?.privileged !== true) {
    check.forbidden('Bidirectional mount propagation is available only to privileged containers')
  }
}

function validateRecursiveReadOnly(mount: V1VolumeMount, check: Check<unknown>): void {
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
      check.notSupported(['Disabled', 'Enabled', 'IfPossible'], mount.recursiveReadOnly)
  }
}

export function validateVolumeDevices(container: AnyContainer, volumes: VolumesByName, check: Check<V1VolumeDevice[] | undefined>): void {
  const devices = container.volumeDevices
  if (devices === undefined) return
  const mounted = takenBy(container.volumeMounts ?? [], (mount) => mount.mountPath)
  const names = new Set<string>()
  const paths = new Set<string>()
  for (let index = 0; index < devices.length; index++) {
    const { name = '', devicePath = '' } = devices[index] as V1VolumeDevice
    const at = check.at(index)
    const volume = volumes.get(name)
    if (name === '') at.at('name').required()
    if (names.has(name)) at.at('name').invalid('must be unique', name)
    if (volume && !volume.persistentVolumeClaim && !volume.ephemeral) {
      at.at('name').invalid('can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode', name)
    }
    if (!volume) at.at('name').notFound(name)
    if (devicePath === '') at.at('devicePath').required()
    if (paths.has(devicePath)) at.at('devicePath').invalid('must be unique', devicePath)
    if (hasBackstep(devicePath)) at.at('devicePath').invalid("can not contain backsteps ('..')", devicePath)
    else paths.add(devicePath)
    if (mounted.names.has(name)) at.at('name').invalid('must not already exist in volumeMounts', name)
    if (mounted.paths.has(devicePath)) at.at('devicePath').invalid('must not already exist as a path in volumeMounts', devicePath)
    if (name !== '') names.add(name)
  }
}
