import { ControllerRevision } from '#api/apps/v1/kinds.gen.ts'
import type { V1ControllerRevision } from '#api/apps/v1/types.gen.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { nonNegative } from '#api/meta/formats.ts'
import { mustNotChange } from '#api/meta/immutable.ts'
import { nameIsDns1123Subdomain } from '#api/meta/names.ts'
import { validateObjectMeta } from '#api/meta/object-meta.ts'
import { controllerOf } from '#api/meta/owner-references.ts'
import { defineResource } from '#api/resource.ts'

export const controllerRevisionResource = defineResource(ControllerRevision, {
  allowUnconditionalUpdate: true,
  defaultPropagation: 'Background',
  generation: false,

  validate({ data }, check) {
    nonNegative(check.at('revision'))
    if (data === undefined || data === null) check.at('data').required('data is mandatory')
    else if (typeof data !== 'object' || Array.isArray(data)) check.at('data').required('data must be a valid JSON object')
  },
  validateUpdate(_next, prev, check) {
    validateObjectMeta(check.at('metadata'), { scope: 'Namespaced', nameRule: nameIsDns1123Subdomain })
    nonNegative(check.at('revision'))
    mustNotChange(check.at('data'), prev.data, equalityOf(ControllerRevision).at('data'), 'r')
  },

  columns: [
    nameColumn,
    { name: 'Controller', type: 'string', description: 'Controller of the object', cell: controllerCell },
    { name: 'Revision', type: 'string', description: { field: 'ControllerRevision.revision' }, cell: ({ revision }) => revision ?? 0 },
    ageColumn,
  ],
})

function controllerCell(revision: V1ControllerRevision): string {
  const controller = controllerOf(revision)
  if (!controller) return '<none>'
  const slash = controller.apiVersion.indexOf('/')
  const group = slash < 0 ? '' : `.${controller.apiVersion.slice(0, slash)}`
  return `${controller.kind.toLowerCase()}${group}/${controller.name}`
}
