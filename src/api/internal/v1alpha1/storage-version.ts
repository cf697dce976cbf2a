import { StorageVersion } from '#api/internal/v1alpha1/kinds.gen.ts'
import type {
  V1alpha1ServerStorageVersion,
  V1alpha1StorageVersionCondition,
  V1alpha1StorageVersionStatus,
} from '#api/internal/v1alpha1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { dns1035Label, dns1123Subdomain, emptyError, mustBe, qualifiedName, regexError } from '#api/meta/names.ts'
import { defineResource } from '#api/resource.ts'
import { append } from '#base/append.ts'

export const storageVersionResource = defineResource(StorageVersion, {
  featureGate: 'StorageVersionAPI',
  nameRule: nameProblems,
  defaultPropagation: 'Background',

  defaults(storageVersion) {
    storageVersion.spec ??= {}
  },
  revalidatesMetadata: false,

  subresources: {
    status: {
      keepsMetadata: 'all',
      revalidatesMetadata: false,
      validateUpdate: (_next, _prev, check) => validateStatus(check.at('status').or({})),
    },
  },

  columns: [
    nameColumn,
    {
      name: 'CommonEncodingVersion',
      type: 'string',
      description: { field: 'StorageVersionStatus.commonEncodingVersion' },
      cell: ({ status }) => status?.commonEncodingVersion ?? '<unset>',
    },
    {
      name: 'StorageVersions',
      type: 'string',
      description: { field: 'StorageVersionStatus.storageVersions' },
      cell: ({ status }) => serversCell(status?.storageVersions ?? []),
    },
    ageColumn,
  ],
})

function serversCell(servers: readonly V1alpha1ServerStorageVersion[]): string {
  const shown = servers.slice(0, 3).map(({ apiServerID, encodingVersion }) => `${apiServerID}=${encodingVersion}`)
  if (servers.length > 3) return `${shown.join(',')} + ${servers.length - 3} more...`
  return shown.join(',') || '<unset>'
}

/** `<group>.<resource>` */
function nameProblems(name: string): string[] {
  const dot = name.lastIndexOf('.')
  if (dot < 0) return ['name must be in the form of <group>.<resource>']
  return [
    ...dns1123Subdomain(name.slice(0, dot)).map((problem) => `the group segment ${problem}`),
    ...dns1035Label(name.slice(dot + 1)).map((problem) => `the resource segment ${problem}`),
  ]
}

function validateStatus(check: Check<V1alpha1StorageVersionStatus>): void {
  const status = check.value
  const servers = new Set<string>()
  check.at('storageVersions').each((at) => {
    const server = at.value
    if (servers.has(server.apiServerID)) at.at('apiServerID').duplicate()
    servers.add(server.apiServerID)
    validateServer(at)
  })
  validateCommonVersion(status, check.at('commonEncodingVersion'))
  validateConditions(check.with(status.conditions))
}

function validateServer(check: Check<V1alpha1ServerStorageVersion>): void {
  const server = check.value
  const { encodingVersion = '', decodableVersions = [] } = server
  mustBe(dns1123Subdomain, check.at('apiServerID').or(''))
  mustBeApiVersion(check.at('encodingVersion').or(''))
  check.at('decodableVersions').each(mustBeApiVersion)
  if (!decodableVersions.includes(encodingVersion)) {
    check.at('decodableVersions').invalid(`decodableVersions must include encodingVersion ${encodingVersion}`)
  }
  check.at('servedVersions').each((at) => {
    const version = at.value
    mustBeApiVersion(at)
    if (decodableVersions.includes(version)) return
    at.invalid(`individual served version : ${version} must be included in decodableVersions : [${decodableVersions.join(' ')}]`)
  })
}

const dns1035Pattern = '[a-z]([-a-z0-9]*[a-z0-9])?'
const apiVersionError = `an apiVersion is ${regexError(
  "a DNS-1035 label, which must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
  dns1035Pattern,
  'my-name',
  'abc-123',
)} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyVersion')`

function mustBeApiVersion(check: Check<string>): void {
  const text = check.value
  const problems = apiVersionProblems(text)
  if (problems.length > 0) check.invalid(problems.join(','))
}

function apiVersionProblems(text: string): string[] {
  const parts = text.split('/')
  if (parts.length > 2) return [apiVersionError]
  const version = parts.at(-1) ?? ''
  const problems: string[] = []
  if (parts.length === 2) {
    const [group = ''] = parts
    if (group === '') problems.push(`group part: ${emptyError}`)
    else
      append(
        problems,
        dns1123Subdomain(group).map((problem) => `group part: ${problem}`),
      )
  }
  if (version === '') problems.push(`version part: ${emptyError}`)
  else
    append(
      problems,
      dns1035Label(version).map((problem) => `version part: ${problem}`),
    )
  return problems
}

function validateCommonVersion({ storageVersions = [], commonEncodingVersion }: V1alpha1StorageVersionStatus, check: Check<unknown>): void {
  const [first] = storageVersions
  const agree = first !== undefined && storageVersions.every(({ encodingVersion }) => encodingVersion === first.encodingVersion)
  if (!agree) {
    if (commonEncodingVersion === undefined) return
    check.invalid(
      'should be nil if servers do not agree on the same encoding version, or if there is no server reporting the supported versions yet',
      commonEncodingVersion,
    )
  } else if (commonEncodingVersion === undefined) check.invalid(`the common encoding version is ${first.encodingVersion}`, null)
  else if (commonEncodingVersion !== first.encodingVersion) {
    check.invalid(`the actual common encoding version is ${first.encodingVersion}`, commonEncodingVersion)
  }
}

/** Upstream names no field between the status and the condition's place. */
function validateConditions(check: Check<readonly V1alpha1StorageVersionCondition[] | undefined>): void {
  const conditions = check.value
  const places = new Map<string, number>()
  for (const [index, { type = '', reason, message }] of (conditions ?? []).entries()) {
    const at = check.at(index)
    const place = places.get(type)
    if (place !== undefined)
      at.at('type').or('').invalid(`the type of the condition is not unique, it also appears in conditions[${place}]`)
    places.set(type, index)
    mustBe(qualifiedName, at.at('type').or(''))
    mustBe(qualifiedName, at.at('status').or(''))
    if (!reason) at.at('reason').required()
    if (!message) at.at('message').required()
  }
}
