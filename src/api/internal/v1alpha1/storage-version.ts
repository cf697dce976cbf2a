import { StorageVersion } from '#api/internal/v1alpha1/kinds.gen.ts'
import type {
  V1alpha1ServerStorageVersion,
  V1alpha1StorageVersionCondition,
  V1alpha1StorageVersionStatus,
} from '#api/internal/v1alpha1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { each } from '#api/meta/each.ts'
import { dns1035Label, dns1123Subdomain, emptyError, mustBe, qualifiedName, regexError } from '#api/meta/names.ts'
import { putBack } from '#api/meta/put-back.ts'
import { resetObjectMetaForStatus } from '#api/meta/reset-object-meta-for-status.ts'
import { defineResource } from '#api/resource.ts'

export const storageVersionResource = defineResource(StorageVersion, {
  featureGate: 'StorageVersionAPI',
  nameRule: nameProblems,
  defaultPropagation: 'Background',
  resetFields: ['status'],

  defaults(storageVersion) {
    storageVersion.spec ??= {}
  },
  prepareForCreate(storageVersion) {
    delete storageVersion.status
  },
  rejudgesMetadata: false,
  prepareForUpdate: (next, prev) => putBack(next, prev, 'status'),

  subresources: {
    status: {
      resetFields: ['metadata', 'spec'],
      rejudgesMetadata: false,
      prepareForUpdate(next, prev) {
        putBack(next, prev, 'spec')
        resetObjectMetaForStatus(next.metadata, prev.metadata)
      },
      validateUpdate: ({ status }, _prev, check) => validateStatus(status ?? {}, check.at('status')),
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

function validateStatus(status: V1alpha1StorageVersionStatus, check: Check): void {
  const servers = new Set<string>()
  each(status.storageVersions, check.at('storageVersions'), (server, at) => {
    if (servers.has(server.apiServerID)) at.at('apiServerID').duplicate(server.apiServerID)
    servers.add(server.apiServerID)
    validateServer(server, at)
  })
  validateCommonVersion(status, check.at('commonEncodingVersion'))
  validateConditions(status.conditions, check)
}

function validateServer(server: V1alpha1ServerStorageVersion, check: Check): void {
  const { apiServerID = '', encodingVersion = '', decodableVersions = [], servedVersions = [] } = server
  mustBe(dns1123Subdomain, apiServerID, check.at('apiServerID'))
  mustBeApiVersion(encodingVersion, check.at('encodingVersion'))
  each(decodableVersions, check.at('decodableVersions'), mustBeApiVersion)
  if (!decodableVersions.includes(encodingVersion)) {
    check
      .at('decodableVersions')
      .invalid(server.decodableVersions ?? null, `decodableVersions must include encodingVersion ${encodingVersion}`)
  }
  each(servedVersions, check.at('servedVersions'), (version, at) => {
    mustBeApiVersion(version, at)
    if (decodableVersions.includes(version)) return
    at.invalid(version, `individual served version : ${version} must be included in decodableVersions : [${decodableVersions.join(' ')}]`)
  })
}

const dns1035Pattern = '[a-z]([-a-z0-9]*[a-z0-9])?'
const apiVersionError = `an apiVersion is ${regexError(
  "a DNS-1035 label, which must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
  dns1035Pattern,
  'my-name',
  'abc-123',
)} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyVersion')`

function mustBeApiVersion(text: string, check: Check): void {
  const problems = apiVersionProblems(text)
  if (problems.length > 0) check.invalid(text, problems.join(','))
}

function apiVersionProblems(text: string): string[] {
  const parts = text.split('/')
  if (parts.length > 2) return [apiVersionError]
  const version = parts.at(-1) ?? ''
  const problems: string[] = []
  if (parts.length === 2) {
    const [group = ''] = parts
    if (group === '') problems.push(`group part: ${emptyError}`)
    else problems.push(...dns1123Subdomain(group).map((problem) => `group part: ${problem}`))
  }
  if (version === '') problems.push(`version part: ${emptyError}`)
  else problems.push(...dns1035Label(version).map((problem) => `version part: ${problem}`))
  return problems
}

function validateCommonVersion({ storageVersions = [], commonEncodingVersion }: V1alpha1StorageVersionStatus, check: Check): void {
  const [first] = storageVersions
  const agree = first !== undefined && storageVersions.every(({ encodingVersion }) => encodingVersion === first.encodingVersion)
  if (!agree) {
    if (commonEncodingVersion === undefined) return
    check.invalid(
      commonEncodingVersion,
      'should be nil if servers do not agree on the same encoding version, or if there is no server reporting the supported versions yet',
    )
  } else if (commonEncodingVersion === undefined) check.invalid(null, `the common encoding version is ${first.encodingVersion}`)
  else if (commonEncodingVersion !== first.encodingVersion) {
    check.invalid(commonEncodingVersion, `the actual common encoding version is ${first.encodingVersion}`)
  }
}

/** Upstream names no field between the status and the condition's place. */
function validateConditions(conditions: readonly V1alpha1StorageVersionCondition[] | undefined, check: Check): void {
  const places = new Map<string, number>()
  for (const [index, { type = '', status = '', reason, message }] of (conditions ?? []).entries()) {
    const at = check.at(index)
    const place = places.get(type)
    if (place !== undefined) at.at('type').invalid(type, `the type of the condition is not unique, it also appears in conditions[${place}]`)
    places.set(type, index)
    mustBe(qualifiedName, type, at.at('type'))
    mustBe(qualifiedName, status, at.at('status'))
    if (!reason) at.at('reason').required()
    if (!message) at.at('message').required()
  }
}
