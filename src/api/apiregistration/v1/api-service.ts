import { APIService } from '#api/apiregistration/v1/kinds.gen.ts'
import type { V1APIService } from '#api/apiregistration/v1/types.gen.ts'
import { type Check, quoted } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { each } from '#api/meta/each.ts'
import { portNum } from '#api/meta/formats.ts'
import { dns1035Label, dns1123Subdomain, mustBe, nameIsPathSegment, pathSegmentName } from '#api/meta/names.ts'
import { validateObjectMeta } from '#api/meta/object-meta.ts'
import { putBack } from '#api/meta/put-back.ts'
import { defineResource } from '#api/resource.ts'

/** Says who serves a group version: this server, or another one behind a service. */
export const apiServiceResource = defineResource(APIService, {
  storagePath: 'apiregistration.k8s.io/apiservices',
  nameRule: nameIsPathSegment,
  finalizers: 'any',
  generation: false,
  resetFields: ['status'],

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
  prepareForUpdate: (next, prev) => putBack(next, prev, 'status'),
  validate: validateService,
  validateUpdate(next, _prev, check) {
    validateObjectMeta(next.metadata, { scope: 'Cluster', nameRule: nameIsPathSegment, finalizers: 'any' }, check.at('metadata'))
    validateService(next, check)
  },

  subresources: {
    status: {
      resetFields: ['spec', 'metadata'],
      prepareForUpdate(next, prev) {
        putBack(next, prev, 'spec')
        for (const field of ['labels', 'annotations', 'finalizers', 'ownerReferences'] as const)
          putBack(next.metadata, prev.metadata, field)
      },
      validateUpdate(next, _prev, check) {
        each(next.status?.conditions, check.at('status.conditions'), ({ status = '' }, item) => {
          if (!conditionStatuses.includes(status)) item.at('status').notSupported(status, conditionStatuses)
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

function validateService({ metadata, spec }: V1APIService, check: Check): void {
  const { group = '', version = '', groupPriorityMinimum = 0, versionPriority = 0 } = spec ?? {}
  validateName(metadata, `${version}.${group}`, check.at('metadata'))
  if (group === '') {
    if (version !== 'v1') check.at('spec.group').required('only v1 may have an empty group and it better be legacy kube')
  } else mustBe(dns1123Subdomain, group, check.at('spec.group'))
  mustBe(dns1035Label, version, check.at('spec.version'))
  if (groupPriorityMinimum <= 0 || groupPriorityMinimum > maxGroupPriority) {
    check.at('spec.groupPriorityMinimum').invalid(groupPriorityMinimum, `must be positive and less than ${maxGroupPriority}`)
  }
  if (versionPriority <= 0 || versionPriority > maxVersionPriority) {
    check.at('spec.versionPriority').invalid(versionPriority, `must be positive and less than ${maxVersionPriority}`)
  }
  validateTarget(spec ?? {}, check.at('spec'))
}

/** The name and the prefix of one are made of what the object is about. */
function validateName({ name = '', generateName = '' }: V1APIService['metadata'], required: string, check: Check): void {
  const message = `must be \`spec.version+"."+spec.group\`: ${quoted(required)}`
  for (const [field, value] of Object.entries({ generateName, name })) {
    if (value !== '' && value !== required && pathSegmentName(value).length === 0) check.at(field).invalid(value, message)
  }
}

function validateTarget({ service, caBundle, insecureSkipTLSVerify }: Partial<V1APIService['spec']>, check: Check): void {
  if (service == null) {
    if (caBundle) {
      const size = `${Buffer.byteLength(caBundle, 'base64')} bytes`
      check.at('caBundle').invalid(size, 'local APIServices may not have a caBundle')
    }
    if (insecureSkipTLSVerify) {
      check.at('insecureSkipTLSVerify').invalid(insecureSkipTLSVerify, 'local APIServices may not have insecureSkipTLSVerify')
    }
    return
  }
  const { namespace, name, port = 0 } = service
  if (!namespace) check.at('service.namespace').required()
  if (!name) check.at('service.name').required()
  const portErrors = portNum(port)
  if (portErrors.length > 0) check.at('service.port').invalid(port, `port is not valid: ${portErrors.join(', ')}`)
  if (insecureSkipTLSVerify && caBundle) {
    check.at('insecureSkipTLSVerify').invalid(insecureSkipTLSVerify, 'may not be true if caBundle is present')
  }
}

function availableCell({ status }: V1APIService): string {
  const condition = status?.conditions?.find(({ type }) => type === 'Available')
  if (condition === undefined) return 'Unknown'
  return condition.status !== 'True' && condition.reason ? `${condition.status} (${condition.reason})` : condition.status
}
