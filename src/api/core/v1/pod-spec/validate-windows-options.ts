/** Validates what pods and containers ask of a Windows node. */
import { type AnyContainer, checkAtContainer, eachContainer } from '#api/core/v1/pod-spec/all-containers.ts'
import type { V1PodSpec, V1WindowsSecurityContextOptions } from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { byteLength, dns1123Subdomain } from '#api/meta/names.ts'

const credentialSpecMaxKiB = 64
const domainLimit = 256
const userMaxLength = 104

/** `check` stands at the options. */
export function validateWindowsOptions(check: Check<V1WindowsSecurityContextOptions>): void {
  const options = check.value
  const { gmsaCredentialSpecName, gmsaCredentialSpec, runAsUserName } = options
  if (gmsaCredentialSpecName !== undefined) {
    for (const message of dns1123Subdomain(gmsaCredentialSpecName)) {
      check.at('gmsaCredentialSpecName').invalid(message)
    }
  }
  if (gmsaCredentialSpec !== undefined) {
    const at = check.at('gmsaCredentialSpec')
    if (gmsaCredentialSpec === '') at.invalid('gmsaCredentialSpec cannot be an empty string', '')
    else if (byteLength(gmsaCredentialSpec) > credentialSpecMaxKiB * 1024) {
      at.invalid(`gmsaCredentialSpec size must be under ${credentialSpecMaxKiB} KiB`)
    }
  }
  if (runAsUserName !== undefined) {
    for (const message of userNameErrors(runAsUserName)) check.at('runAsUserName').invalid(message)
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
const controlCharacters = /[\u0000-\u001f\u007f]/
const netBiosName = /^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$/u
const dnsLabel = '[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?'
const dnsName = new RegExp(`^${dnsLabel}(?:\\.${dnsLabel})*$`)

function userNameErrors(name: string): string[] {
  if (name === '') return ['runAsUserName cannot be an empty string']
  if (controlCharacters.test(name)) return ['runAsUserName cannot contain control characters']
  const parts = name.split('\\')
  if (parts.length > 2) return ['runAsUserName cannot contain more than one backslash']
  const errors: string[] = []
  const domain = parts.length === 2 ? (parts[0] ?? '') : undefined
  const user = parts.at(-1) ?? ''
  if (domain !== undefined) {
    if (byteLength(domain) >= domainLimit) errors.push(`runAsUserName's Domain length must be under ${domainLimit} characters`)
    if (!netBiosName.test(domain) && !dnsName.test(domain)) {
      errors.push("runAsUserName's Domain doesn't match the NetBios nor the DNS format")
    }
  }
  if (user === '') errors.push("runAsUserName's User cannot be empty")
  else if (byteLength(user) > userMaxLength) {
    errors.push(`runAsUserName's User length must not be longer than ${userMaxLength} characters`)
  }
  if (/^[. ]+$/.test(user)) errors.push("runAsUserName's User cannot contain only periods or spaces")
  if (/["/\\:;|=,+*?<>@[\]]/.test(user)) {
    errors.push('runAsUserName\'s User cannot contain the following characters: "/\\:;|=,+*?<>@[]')
  }
  return errors
}

/** Containers that run as processes of the host: all or none, and then the pod has the host's network. `check` stands at the spec. */
export function validateHostProcess(check: Check<V1PodSpec>): void {
  const spec = check.value
  const ofPod = spec.securityContext?.windowsOptions?.hostProcess
  let containers = 0
  let hostProcesses = 0
  eachContainer(spec, (container, list, index) => {
    containers++
    const ofContainer = container.securityContext?.windowsOptions?.hostProcess
    if (ofPod !== undefined && ofContainer !== undefined && ofPod !== ofContainer) {
      checkAtContainer(check, list, index)
        .at('securityContext')
        .at('windowsOptions')
        .at('hostProcess')
        .invalid(`pod hostProcess value must be identical if both are specified, was ${ofPod}`, ofContainer)
    }
    if (ofContainer ?? ofPod) hostProcesses++
  })
  if (hostProcesses === 0) return
  if (hostProcesses !== containers) {
    check.invalid('If pod contains any hostProcess containers then all containers must be HostProcess containers', '')
  }
  if (!spec.hostNetwork) {
    check.at('hostNetwork').invalid('hostNetwork must be true if pod contains any hostProcess containers', false)
  }
}

const osNames = ['linux', 'windows']

/** `check` stands at the spec. */
export function validateOs(check: Check<V1PodSpec>): void {
  const spec = check.value
  const name = spec.os?.name
  if (!name) {
    check.at('os').at('name').required()
    return
  }
  if (!osNames.includes(name)) {
    check.at('os').notSupported(osNames, name)
    return
  }
  if (name === 'linux') validateForLinux(check)
  else validateForWindows(check)
}

function validateForLinux(check: Check<V1PodSpec>): void {
  const spec = check.value
  const message = 'windows options cannot be set for a linux pod'
  if (spec.securityContext?.windowsOptions) check.at('securityContext').at('windowsOptions').forbidden(message)
  eachContainer(spec, (container, list, index) => {
    if (!container.securityContext?.windowsOptions) return
    checkAtContainer(check, list, index).at('securityContext').at('windowsOptions').forbidden(message)
  })
}

const notForWindows = 'cannot be set for a windows pod'

const linuxPodFields = [
  ...['securityContext.appArmorProfile', 'securityContext.seLinuxOptions', 'hostUsers', 'hostPID', 'hostIPC'],
  ...['securityContext.seccompProfile', 'securityContext.fsGroup', 'securityContext.fsGroupChangePolicy', 'securityContext.sysctls'],
  ...['shareProcessNamespace', 'securityContext.runAsUser', 'securityContext.runAsGroup', 'securityContext.supplementalGroups'],
  ...['securityContext.supplementalGroupsPolicy', 'securityContext.seLinuxChangePolicy'],
]

const linuxContainerFields = [
  ...['appArmorProfile', 'seLinuxOptions', 'seccompProfile', 'capabilities', 'readOnlyRootFilesystem', 'privileged'],
  ...['allowPrivilegeEscalation', 'procMount', 'runAsUser', 'runAsGroup'],
]

function validateForWindows(check: Check<V1PodSpec>): void {
  const spec = check.value
  const ofPod: Record<string, unknown> = { ...spec }
  const ofContext: Record<string, unknown> = { ...spec.securityContext }
  for (const field of linuxPodFields) {
    const [head = '', tail] = field.split('.')
    const value = tail === undefined ? ofPod[head] : ofContext[tail]
    if (isSet(value, field)) check.dynamic(field).forbidden(notForWindows)
  }
  eachContainer(spec, (container: AnyContainer, list, index) => {
    const context: Record<string, unknown> = { ...container.securityContext }
    for (const field of linuxContainerFields) {
      if (context[field] === undefined) continue
      checkAtContainer(check, list, index).at('securityContext').dynamic(field).forbidden(notForWindows)
    }
  })
}

/** hostPID and hostIPC are plain booleans, where false is as good as absent; an empty list of sysctls too. */
function isSet(value: unknown, field: string): boolean {
  if (field === 'hostPID' || field === 'hostIPC') return value === true
  if (field === 'securityContext.sysctls') return Array.isArray(value) && value.length > 0
  return value !== undefined
}
