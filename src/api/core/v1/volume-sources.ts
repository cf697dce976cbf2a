/** Rules of the volume sources that pods and persistent volumes have in common. `check` stands at the source. */
import { validateDescendingPath, validateFileMode, validateLocalPath, validateNoBacksteps } from '#api/core/v1/pod-spec/paths.ts'
import type {
  V1AWSElasticBlockStoreVolumeSource,
  V1AzureDiskVolumeSource,
  V1FCVolumeSource,
  V1FlockerVolumeSource,
  V1GCEPersistentDiskVolumeSource,
  V1GitRepoVolumeSource,
  V1HostPathVolumeSource,
  V1KeyToPath,
  V1NFSVolumeSource,
  V1QuobyteVolumeSource,
} from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { inRange } from '#api/meta/formats.ts'
import { byteLength, dns1123Label, dns1123Subdomain, mustBe, rangeError } from '#api/meta/names.ts'

export const onlyOneVolumeType = 'may not specify more than 1 volume type'

/** Reports each of the fields that is empty. */
export function requireFields<T extends object>(check: Check<T>, fields: readonly (keyof T & string)[]): void {
  const source = check.value
  for (const field of fields) {
    const value = source[field]
    if (!value || (Array.isArray(value) && value.length === 0)) check.at(field).required()
  }
}

const hostPathTypes = ['', 'BlockDevice', 'CharDevice', 'Directory', 'DirectoryOrCreate', 'File', 'FileOrCreate', 'Socket']

export function validateHostPath(check: Check<V1HostPathVolumeSource>): void {
  const source = check.value
  if (!source.path) {
    check.at('path').required()
    return
  }
  validateNoBacksteps(check.at('path'))
  if (source.type !== undefined && !hostPathTypes.includes(source.type)) check.at('type').notSupported(hostPathTypes)
}

export function validateGitRepo(check: Check<V1GitRepoVolumeSource>): void {
  const source = check.value
  if (!source.repository) check.at('repository').required()
  validateDescendingPath(check.at('directory').or(''))
}

const partitionMessage = rangeError(1, 255)

function validatePartition(check: Check<number | undefined>): void {
  const partition = check.value
  if (partition !== undefined && (partition < 0 || partition > 255)) check.invalid(partitionMessage)
}

export function validateGcePersistentDisk(check: Check<V1GCEPersistentDiskVolumeSource>): void {
  const source = check.value
  if (!source.pdName) check.at('pdName').required()
  validatePartition(check.at('partition'))
}

export function validateAwsElasticBlockStore(check: Check<V1AWSElasticBlockStoreVolumeSource>): void {
  const source = check.value
  if (!source.volumeID) check.at('volumeID').required()
  validatePartition(check.at('partition'))
}

export function validateNfs(check: Check<V1NFSVolumeSource>): void {
  const source = check.value
  if (!source.server) check.at('server').required()
  if (!source.path) check.at('path').required()
  if (!source.path?.startsWith('/')) check.at('path').or('').invalid('must be an absolute path')
}

const hostPortsMessage = 'must be a host:port pair or multiple pairs separated by commas'

export function validateQuobyte(check: Check<V1QuobyteVolumeSource>): void {
  const source = check.value
  if (!source.registry) check.at('registry').required(hostPortsMessage)
  else if (byteLength(source.tenant ?? '') >= 65) {
    check.at('tenant').required('must be a UUID and may not exceed a length of 64 characters')
  } else {
    for (const pair of source.registry.split(',')) {
      if (!isHostPort(pair)) check.at('registry').invalid(hostPortsMessage)
    }
  }
  if (!source.volume) check.at('volume').required()
}

/** `host:port`, where a host with colons stands in brackets. */
const isHostPort = (text: string): boolean => /^(?:\[[^[\]]*\]|[^:[\]]*):[^:[\]]*$/.test(text)

export function validateFlocker(check: Check<V1FlockerVolumeSource>): void {
  const source = check.value
  const { datasetName = '', datasetUUID = '' } = source
  if (datasetName === '' && datasetUUID === '') check.required('one of datasetName and datasetUUID is required')
  if (datasetName !== '' && datasetUUID !== '') {
    check.invalid('datasetName and datasetUUID can not be specified simultaneously', 'resource')
  }
  if (datasetName.includes('/')) check.at('datasetName').or('').invalid("must not contain '/'")
}

export function validateFc(check: Check<V1FCVolumeSource>): void {
  const source = check.value
  const { targetWWNs = [], wwids = [], lun } = source
  if (targetWWNs.length === 0 && wwids.length === 0) {
    check.at('targetWWNs').required('must specify either targetWWNs or wwids, but not both')
  }
  if (targetWWNs.length > 0 && wwids.length > 0) {
    check.at('targetWWNs').or([]).invalid('targetWWNs and wwids can not be specified simultaneously')
  }
  if (targetWWNs.length === 0) return
  if (lun === undefined) check.at('lun').required('lun is required if targetWWNs is specified')
  else for (const message of inRange(lun, 0, 255)) check.at('lun').invalid(message)
}

const cachingModes = ['None', 'ReadOnly', 'ReadWrite']
const diskKinds = ['Dedicated', 'Managed', 'Shared']

export function validateAzureDisk(check: Check<V1AzureDiskVolumeSource>): void {
  const source = check.value
  const { diskName, diskURI, cachingMode, kind } = source
  if (!diskName) check.at('diskName').required()
  if (!diskURI) check.at('diskURI').required()
  if (cachingMode !== undefined && !cachingModes.includes(cachingMode)) check.at('cachingMode').notSupported(cachingModes)
  if (kind === undefined) return
  if (!diskKinds.includes(kind)) check.at('kind').notSupported(diskKinds)
  const uri = diskURI ?? ''
  if (kind === 'Managed') {
    if (!uri.startsWith('/subscriptions/')) {
      check
        .at('diskURI')
        .or('')
        .notSupported(['/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}'])
    }
  } else if (!uri.startsWith('https://')) {
    check.at('diskURI').or('').notSupported(['https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd'])
  }
}

type FlexVolume = { driver: string; options?: { [key: string]: string } }

export function validateFlexVolume(check: Check<FlexVolume>): void {
  const source = check.value
  if (!source.driver) check.at('driver').required()
  for (const key of Object.keys(source.options ?? {})) {
    const domain = `.${(key.split('/', 2).length === 2 ? key.slice(0, key.indexOf('/')) : key).toLowerCase()}`
    if (!domain.endsWith('.kubernetes.io') && !domain.endsWith('.k8s.io')) continue
    check.at('options').key(key).invalid('kubernetes.io and k8s.io namespaces are reserved', key)
  }
}

type StorageOs = { volumeName?: string; volumeNamespace?: string; secretRef?: { name?: string } }

export function validateStorageOs(check: Check<StorageOs>): void {
  const source = check.value
  if (!source.volumeName) check.at('volumeName').required()
  else mustBe(dns1123Label, check.at('volumeName').present)
  if (source.volumeNamespace) mustBe(dns1123Label, check.at('volumeNamespace').present)
  if (source.secretRef && !source.secretRef.name) check.at('secretRef').at('name').required()
}

const driverMaxLength = 63

export function validateCsiDriverName(name: string | undefined, check: Check<string | undefined>): void {
  if (!name) {
    check.required()
    return
  }
  if (byteLength(name) > driverMaxLength) check.tooLong(driverMaxLength)
  for (const message of dns1123Subdomain(name.toLowerCase())) check.invalid(message)
}

export function validateKeyToPath(check: Check<V1KeyToPath>): void {
  const item = check.value
  if (!item.key) check.at('key').required()
  if (!item.path) check.at('path').required()
  else validateLocalPath(check.at('path'))
  validateFileMode(check.at('mode'))
}

type Iscsi = {
  targetPortal: string
  iqn: string
  lun: number
  chapAuthDiscovery?: boolean
  chapAuthSession?: boolean
  secretRef?: object
  initiatorName?: string
}

const qualifiedNames: Record<string, (name: string) => boolean> = {
  iqn: isQualifiedName,
  eui: (name) => /^eui.[0-9A-Za-z]{16}$/.test(name),
  naa: (name) => /^naa.[0-9A-Za-z]{32}$/.test(name),
}

/**
 * Upstream's `iqn\.\d{4}-\d{2}\.([0-9A-Za-z-.]+)(:[^,;*&$|\s]+)$`, which may begin anywhere. Here it is tried once for each row of such
 * characters, not at each of a hundred thousand `iqn`.
 */
function isQualifiedName(name: string): boolean {
  const tail = name.split(/[,;*&$|\s]/).at(-1) ?? ''
  return /(?<![0-9A-Za-z.-])(?=[0-9A-Za-z.-]+:.)[0-9A-Za-z.-]*?iqn\.\d{4}-\d{2}\.[0-9A-Za-z.-]/.test(tail)
}

export const iscsiNameTooLong =
  'Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.'

export const isIscsiNameTooLong = (volume: string, { initiatorName, targetPortal }: Iscsi): boolean =>
  initiatorName !== undefined && byteLength(`${volume}:${targetPortal ?? ''}`) > 64

/** What follows the portal; `unknownMessage` is what is said of a name of no known kind. */
export function validateIscsiTarget(check: Check<Iscsi>, unknownMessage: string): void {
  const source = check.value
  if (!source.iqn) check.at('iqn').required()
  else validateIscsiName(check.at('iqn'), unknownMessage)
  const lun = source.lun ?? 0
  for (const message of inRange(lun, 0, 255)) check.at('lun').or(0).invalid(message)
  if ((source.chapAuthDiscovery || source.chapAuthSession) && !source.secretRef) check.at('secretRef').required()
}

export function validateIscsiName(check: Check<string>, unknownMessage: string): void {
  const name = check.value
  const isSound = qualifiedNames[name.slice(0, 3)]
  if (isSound === undefined) check.invalid(unknownMessage)
  else if (!isSound(name)) check.invalid('must be valid format')
}
