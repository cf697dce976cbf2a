import { APIService } from '#api/apiregistration/v1/kinds.gen.ts'
import type { V1APIService } from '#api/apiregistration/v1/types.gen.ts'
import { type Check, quoted } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { findCondition } from '#api/meta/find-condition.ts'
import { portNum } from '#api/meta/formats.ts'
import { dns1035Label, dns1123Subdomain, mustBe, nameIsPathSegment, pathSegmentName } from '#api/meta/names.ts'
import { validateObjectMeta } from '#api/meta/object-meta.ts'
import { defineResource } from '#api/resource.ts'

/** Says who serves a group version: this server, or another one behind a service. */
export const apiServiceResource = defineResource(APIService, {
  storagePath: 'apiregistration.k8s.io/apiservices',
  nameRule: nameIsPathSegment,
  finalizers: 'any',
  generation: false,

  defaults({ spec }) {
    if (spec?.service != null) spec.service.port ??= 443
  },
  prepareForCreate(service, { now }) {
    service.status = {}
    if (service.spec?.service == null) {
      const message = 'Local APIServices are always available'
      service.status.conditions = [{ type: 'Available', status: 'True', lastTransitionTime: now, reason: 'Local', message }]
    }
  },
  validate: validateService,
  validateUpdate(next, _prev, check) {
    validateObjectMeta(check.at('metadata'), { scope: 'Cluster', nameRule: nameIsPathSegment, finalizers: 'any' })
    validateService(next, check)
  },

  subresources: {
    status: {
      resetFields: ['spec', 'metadata'],
      keepsMetadata: ['labels', 'annotations', 'finalizers', 'ownerReferences'],
      validateUpdate(_next, _prev, check) {
        check
          .at('status')
          .at('conditions')
          .each((item) => {
            const { status = '' } = item.value
            if (!conditionStatuses.includes(status)) item.at('status').or('').notSupported(conditionStatuses)
          })
      },
    },
  },

  columns: [
    nameColumn,
    {
      name: 'Service',
      type: 'string',
      description: 'The reference to the service that hosts this API endpoint.',
      cell: ({ spec }) => (spec?.service == null ? 'Local' : `${spec.service.namespace ?? ''}/${spec.service.name ?? ''}`),
    },
    { name: 'Available', type: 'string', description: 'Whether this service is available.', cell: availableCell },
    ageColumn,
  ],
})

const conditionStatuses = ['True', 'False', 'Unknown']
const maxGroupPriority = 20_000
const maxVersionPriority = 1000

function validateService({ spec }: V1APIService, check: Check<V1APIService>): void {
  const { group = '', version = '', groupPriorityMinimum = 0, versionPriority = 0 } = spec ?? {}
  validateName(check.at('metadata'), `${version}.${group}`)
  if (group === '') {
    if (version !== 'v1') check.at('spec').at('group').required('only v1 may have an empty group and it better be legacy kube')
  } else mustBe(dns1123Subdomain, check.at('spec').at('group').with(group))
  mustBe(dns1035Label, check.at('spec').at('version').with(version))
  if (groupPriorityMinimum <= 0 || groupPriorityMinimum > maxGroupPriority) {
    check.at('spec').at('groupPriorityMinimum').invalid(`must be positive and less than ${maxGroupPriority}`, groupPriorityMinimum)
  }
  if (versionPriority <= 0 || versionPriority > maxVersionPriority) {
    check.at('spec').at('versionPriority').invalid(`must be positive and less than ${maxVersionPriority}`, versionPriority)
  }
  validateTarget(check.at('spec').or({}))
}

/** The name and the prefix of one are made of what the object is about. */
function validateName(check: Check<V1APIService['metadata']>, required: string): void {
  const message = `must be \`spec.version+"."+spec.group\`: ${quoted(required)}`
  for (const field of ['generateName', 'name'] as const) {
    const value = check.value[field] ?? ''
    if (value !== '' && value !== required && pathSegmentName(value).length === 0) check.at(field).invalid(message)
  }
}

function validateTarget(check: Check<Partial<V1APIService['spec']>>): void {
  const { service, caBundle, insecureSkipTLSVerify } = check.value
  if (service == null) {
    if (caBundle) {
      const size = `${Buffer.byteLength(caBundle, 'base64')} bytes`
      check.at('caBundle').invalid('local APIServices may not have a caBundle', size)
    }
    if (insecureSkipTLSVerify) {
      check.at('insecureSkipTLSVerify').invalid('local APIServices may not have insecureSkipTLSVerify')
    }
    return
  }
  const { namespace, name, port = 0 } = service
  if (!namespace) check.at('service').at('namespace').required()
  if (!name) check.at('service').at('name').required()
  const portErrors = portNum(port)
  if (portErrors.length > 0)
    check
      .at('service')
      .at('port')
      .or(0)
      .invalid(`port is not valid: ${portErrors.join(', ')}`)
  if (insecureSkipTLSVerify && caBundle) {
    check.at('insecureSkipTLSVerify').invalid('may not be true if caBundle is present')
  }
}

function availableCell({ status }: V1APIService): string {
  const condition = findCondition(status?.conditions, 'Available')
  if (condition === undefined) return 'Unknown'
  return condition.status !== 'True' && condition.reason ? `${condition.status} (${condition.reason})` : condition.status
}
