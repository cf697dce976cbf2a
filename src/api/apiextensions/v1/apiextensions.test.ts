import assert from 'node:assert/strict'
import { test } from 'node:test'
import { customResourceDefinitionResource } from '#api/apiextensions/v1/custom-resource-definition.ts'
import type {
  V1CustomResourceDefinition,
  V1CustomResourceDefinitionSpec,
  V1CustomResourceDefinitionVersion,
  V1JSONSchemaProps,
} from '#api/apiextensions/v1/types.gen.ts'
import { tryCreate, tryUpdate } from '#api/testing/try-kind.ts'

const schema: V1JSONSchemaProps = { type: 'object', properties: { spec: { type: 'object', properties: { size: { type: 'integer' } } } } }
const version = (change: Partial<V1CustomResourceDefinitionVersion> = {}): V1CustomResourceDefinitionVersion => ({
  name: 'v1',
  served: true,
  storage: true,
  schema: { openAPIV3Schema: schema },
  ...change,
})
const definition = (change: Partial<V1CustomResourceDefinitionSpec> = {}, name = 'widgets.example.com'): V1CustomResourceDefinition => ({
  metadata: { name, resourceVersion: '1' },
  spec: { group: 'example.com', scope: 'Namespaced', names: { plural: 'widgets', kind: 'Widget' }, versions: [version()], ...change },
})
const withSchema = (openAPIV3Schema: V1JSONSchemaProps, change: Partial<V1CustomResourceDefinitionVersion> = {}) =>
  definition({ versions: [version({ schema: { openAPIV3Schema }, ...change })] })
const withField = (a: V1JSONSchemaProps) => withSchema({ type: 'object', properties: { a } })
const errorsOf = (object: V1CustomResourceDefinition) => tryCreate(customResourceDefinitionResource, object).errors

test('definitions are filled in, and remember which version is stored', () => {
  const { object, errors } = tryCreate(customResourceDefinitionResource, definition())
  assert.deepEqual(errors, [])
  const { names, conversion } = object.spec
  assert.deepEqual(
    [names.singular, names.listKind, conversion, object.status],
    ['widget', 'WidgetList', { strategy: 'None' }, { storedVersions: ['v1'] }],
  )
  const next = definition({ versions: [version({ storage: false }), version({ name: 'v2' })] })
  assert.deepEqual(tryUpdate(customResourceDefinitionResource, object, next).object.status?.storedVersions, ['v1', 'v2'])
})

test('names, versions and scope are validated in the words clients know', () => {
  const cases: [string, V1CustomResourceDefinition, string[]][] = [
    ['another name', definition({}, 'nope'), ['metadata.name: Invalid value: "nope": must be spec.names.plural+"."+spec.group']],
    ['no scope', definition({ scope: '' }), ['spec.scope: Required value']],
    ['a scope', definition({ scope: 'X' }), ['spec.scope: Unsupported value: "X": supported values: "Cluster", "Namespaced"']],
    [
      'a group without a dot',
      definition({ group: 'example' }, 'widgets.example'),
      ['spec.group: Invalid value: "example": should be a domain with at least one dot'],
    ],
    [
      'one name for both',
      definition({ names: { plural: 'widgets', kind: 'W', listKind: 'W' } }),
      ['spec.names.listKind: Invalid value: "W": kind and listKind may not be the same'],
    ],
    [
      'no kind',
      definition({ names: { plural: 'widgets', kind: '' } }),
      ['spec.names.singular: Required value', 'spec.names.kind: Required value', 'spec.names.listKind: Required value'],
    ],
    [
      'no versions',
      definition({ versions: [] }),
      [
        'spec.versions: Invalid value: []: must have exactly one version marked as storage version',
        'status.storedVersions: Invalid value: null: must have at least one stored version',
      ],
    ],
    [
      'no schema',
      definition({ versions: [{ name: 'v1', served: true, storage: true }] }),
      ['spec.versions[0].schema.openAPIV3Schema: Required value'],
    ],
    [
      'a warning without deprecation',
      definition({ versions: [version({ deprecationWarning: 'x' })] }),
      ['spec.versions[0].deprecationWarning: Invalid value: "x": can only be set for deprecated versions'],
    ],
    [
      'preserving',
      definition({ preserveUnknownFields: true }),
      [
        'spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
      ],
    ],
    [
      'a protected group',
      definition({ group: 'x.k8s.io' }, 'widgets.x.k8s.io'),
      [
        'metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111',
      ],
    ],
  ]
  for (const [name, object, errors] of cases) assert.deepEqual(errorsOf(object), errors, name)
  const twins = definition({ versions: [version(), version({ storage: false })] })
  assert.match(
    errorsOf(twins)[0] ?? '',
    /^spec\.versions: Invalid value: \[\{"Name":"v1","Served":true,"Storage":true.*: must contain unique version names$/,
  )
})

test('what versions share is validated once, above them; what differs, in each', () => {
  const bad = { type: 'object', nullable: true }
  const at = (path: string) => `spec.${path}.openAPIV3Schema.nullable: Forbidden: nullable cannot be true at the root`
  const two = (other: V1JSONSchemaProps) =>
    definition({
      versions: [
        version({ schema: { openAPIV3Schema: bad } }),
        version({ name: 'v2', storage: false, schema: { openAPIV3Schema: other } }),
      ],
    })
  assert.deepEqual(errorsOf(two(bad)), [at('validation')])
  assert.deepEqual(errorsOf(two(schema)), [at('versions[0].schema')])
})

test('schemas must be structural', () => {
  const root = 'spec.validation.openAPIV3Schema'
  const a = `${root}.properties[a]`
  const cases: [string, V1CustomResourceDefinition, string[]][] = [
    ['no type', withSchema({}), [`${root}.type: Required value: must not be empty at the root`]],
    ['another type', withSchema({ type: 'string' }), [`${root}.type: Invalid value: "string": must be object at the root`]],
    ['a field without type', withField({}), [`${a}.type: Required value: must not be empty for specified object fields`]],
    ['a list of anything', withField({ type: 'array' }), [`${a}.items: Required value: must be specified`]],
    ['a number or a text', withField({ 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] }), []],
    [
      'a type inside a junctor',
      withField({ type: 'string', anyOf: [{ type: 'string' }] }),
      [`${a}.anyOf[0].type: Forbidden: must be empty to be structural`],
    ],
    [
      'a field only in a junctor',
      withSchema({ type: 'object', anyOf: [{ properties: { b: { minimum: 1 } } }] }),
      [`${root}.properties[b]: Required value: because it is defined in ${root}.anyOf[0].properties[b]`],
    ],
    [
      'labels in metadata',
      withSchema({ type: 'object', properties: { metadata: { type: 'object', properties: { labels: { type: 'object' } } } } }),
      [
        `${root}.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified`,
      ],
    ],
    [
      'a name in metadata',
      withSchema({ type: 'object', properties: { metadata: { type: 'object', properties: { name: { type: 'string', maxLength: 5 } } } } }),
      [],
    ],
    [
      'a map at the root',
      withSchema({ type: 'object', additionalProperties: { type: 'string' } }),
      [`${root}.additionalProperties: Forbidden: must not be used at the root`],
    ],
  ]
  for (const [name, object, errors] of cases) assert.deepEqual(errorsOf(object), errors, name)
})

test('what of OpenAPI there is no support for is refused', () => {
  const a = 'spec.validation.openAPIV3Schema.properties[a]'
  const cases: [V1JSONSchemaProps, string[]][] = [
    [{ type: 'string', id: 'x' }, [`${a}.id: Forbidden: id is not supported`]],
    [
      { type: 'null' },
      [
        `${a}.type: Unsupported value: "null": supported values: "array", "boolean", "integer", "number", "object", "string"`,
        `${a}.type: Forbidden: type cannot be set to null, use nullable as an alternative`,
      ],
    ],
    [
      { type: 'array', items: { type: 'string' }, uniqueItems: true },
      [`${a}.uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic`],
    ],
    [
      { type: 'object', properties: { b: { type: 'string' } }, additionalProperties: { type: 'string' } },
      [`${a}.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive`],
    ],
    [
      { type: 'string', 'x-kubernetes-preserve-unknown-fields': false },
      [`${a}.x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined`],
    ],
    [
      { type: 'string', 'x-kubernetes-map-type': 'x' },
      [
        `${a}.type: Invalid value: "string": must be object if x-kubernetes-map-type is specified`,
        `${a}.x-kubernetes-map-type: Unsupported value: "x": supported values: "atomic", "granular"`,
      ],
    ],
    [
      { type: 'array', items: { type: 'object' }, 'x-kubernetes-list-type': 'set' },
      [`${a}.items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set`],
    ],
    [
      {
        type: 'array',
        items: { type: 'object', properties: { k: { type: 'string' } } },
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['k', 'l'],
      },
      [
        `${a}.x-kubernetes-list-map-keys: Invalid value: ["k","l"]: entries must all be names of item properties`,
        `${a}.items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property`,
      ],
    ],
    [
      { type: 'object', 'x-kubernetes-validations': [{ rule: ' ', reason: 'X', fieldPath: '.b' }] },
      [
        `${a}.x-kubernetes-validations[0].rule: Required value: rule is not specified`,
        `${a}.x-kubernetes-validations[0].reason: Unsupported value: "X": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"`,
        `${a}.x-kubernetes-validations[0].fieldPath: Invalid value: ".b": must be a valid path`,
      ],
    ],
  ]
  for (const [field, errors] of cases) assert.deepEqual(errorsOf(withField(field)), errors)
})

test('defaults inside the metadata of embedded objects make sound metadata', () => {
  const withMetadata = (metadata: V1JSONSchemaProps) =>
    withField({ type: 'object', 'x-kubernetes-embedded-resource': true, properties: { metadata: { type: 'object', ...metadata } } })
  const place = 'spec.validation.openAPIV3Schema.properties[a].properties[metadata]'
  const cases: [V1JSONSchemaProps, string[]][] = [
    [{ properties: { name: { type: 'string', default: 'a' } } }, []],
    [
      { properties: { name: { type: 'string', default: 'a/b' } } },
      [
        `${place}.properties[name].default: Invalid value: "a/b": must result in valid metadata: metadata.name: Invalid value: "a/b": may not contain '/'`,
      ],
    ],
    [{ properties: { finalizers: { type: 'array', items: { type: 'string', default: 'example.com/a' } } } }, []],
  ]
  for (const [metadata, errors] of cases) assert.deepEqual(errorsOf(withMetadata(metadata)), errors)
  const number = errorsOf(withMetadata({ properties: { name: { type: 'integer', default: 5 } } }))
  assert.match(number.join(), /properties\[name\]\.default: Invalid value: 5: must result in valid metadata: metadata: Invalid value: /)
})

test('defaults are values the schema takes', () => {
  const a = 'spec.validation.openAPIV3Schema.properties[a].default'
  const cases: [V1JSONSchemaProps, string[]][] = [
    [{ type: 'integer', default: 5 }, []],
    [{ type: 'integer', default: 'x' }, [`${a}: Invalid value: "string":  in body must be of type integer: "string"`]],
    [{ type: 'integer', default: 5, maximum: 3 }, [`${a}: Invalid value: 5:  in body should be less than or equal to 3`]],
    [{ type: 'string', default: 'x', enum: ['y', 'z'] }, [`${a}: Unsupported value: "x": supported values: "y", "z"`]],
    [{ type: 'object', default: { x: 1 } }, [`${a}: Invalid value: {"x":1}: must not have unknown fields`]],
    [{ type: 'object', default: { x: 1 }, 'x-kubernetes-preserve-unknown-fields': true }, []],
    [{ type: 'object', default: {}, required: ['b'], properties: { b: { type: 'string' } } }, [`${a}.b: Required value`]],
  ]
  for (const [field, errors] of cases) assert.deepEqual(errorsOf(withField(field)), errors)
})

test('columns, scale and selectable fields point somewhere', () => {
  const of = (change: Partial<V1CustomResourceDefinitionVersion>) => definition({ versions: [version(change)] })
  const column = { name: '', type: 'x', jsonPath: 'spec', format: 'y' }
  assert.deepEqual(errorsOf(of({ additionalPrinterColumns: [column] })), [
    'spec.additionalPrinterColumns[0].name: Required value',
    'spec.additionalPrinterColumns[0].type: Invalid value: "x": must be one of boolean,date,integer,number,string',
    'spec.additionalPrinterColumns[0].format: Invalid value: "y": must be one of byte,date,date-time,double,float,int32,int64,password',
    'spec.additionalPrinterColumns[0].JSONPath: Invalid value: "spec": must be a simple json path starting with .',
  ])
  assert.deepEqual(errorsOf(of({ subresources: { scale: { specReplicasPath: '.x', statusReplicasPath: '', labelSelectorPath: '.y' } } })), [
    'spec.subresources.scale.specReplicasPath: Invalid value: ".x": should be a json path under .spec',
    'spec.subresources.scale.statusReplicasPath: Required value',
    'spec.subresources.scale.labelSelectorPath: Invalid value: ".y": should be a json path under either .spec or .status',
  ])
  assert.deepEqual(errorsOf(of({ selectableFields: [{ jsonPath: '.spec.size' }] })), [])
  assert.deepEqual(errorsOf(of({ selectableFields: [{ jsonPath: '.spec' }, { jsonPath: '.spec.nope' }, { jsonPath: '' }] })), [
    'spec.selectableFields[0].jsonPath: Invalid value: ".spec": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
    'spec.selectableFields[1].jsonPath: Invalid value: ".spec.nope": is an invalid path: does not refer to a valid field',
    'spec.selectableFields[2].jsonPath: Required value',
  ])
})

test('a webhook converts, or nothing does', () => {
  const conversion = (strategy: string, webhook?: object) => definition({ conversion: { strategy, ...(webhook && { webhook }) } as never })
  const cases: [V1CustomResourceDefinition, string[]][] = [
    [conversion('Webhook', { clientConfig: { url: 'https://x.y' }, conversionReviewVersions: ['v1'] }), []],
    [
      conversion('Webhook'),
      [
        'spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook',
        'spec.conversion.conversionReviewVersions: Required value',
      ],
    ],
    [conversion('Nope'), ['spec.conversion.strategy: Unsupported value: "Nope": supported values: "None", "Webhook"']],
    [
      conversion('None', { conversionReviewVersions: ['v1'] }),
      ['spec.conversion.conversionReviewVersions: Forbidden: should not be set when strategy is not set to Webhook'],
    ],
  ]
  for (const [object, errors] of cases) assert.deepEqual(errorsOf(object), errors)
})

test('the CA of a converting webhook must be sound once objects are served', () => {
  const webhook = { clientConfig: { url: 'https://x.y', caBundle: 'eA==' }, conversionReviewVersions: ['v1'] }
  const converted = definition({ conversion: { strategy: 'Webhook', webhook } })
  const prev = tryCreate(customResourceDefinitionResource, definition()).object
  const conditions = [{ type: 'Established', status: 'True' }]
  assert.deepEqual(tryUpdate(customResourceDefinitionResource, prev, converted).errors, [])
  assert.deepEqual(tryUpdate(customResourceDefinitionResource, { ...prev, status: { ...prev.status, conditions } }, converted).errors, [
    'spec.conversion.webhookClientConfig.caBundle: Invalid value: "eA==": unable to load root certificates: unable to parse bytes as PEM block',
  ])
})

test('an established definition keeps its kind and scope, and every version it stored', () => {
  const prev = tryCreate(customResourceDefinitionResource, definition()).object
  const established = { ...prev, status: { ...prev.status, conditions: [{ type: 'Established', status: 'True' }] } }
  const names = { plural: 'widgets', kind: 'Other', singular: 'widget' }
  assert.deepEqual(tryUpdate(customResourceDefinitionResource, prev, definition({ names })).errors, [])
  assert.deepEqual(tryUpdate(customResourceDefinitionResource, established, definition({ names, scope: 'Cluster' })).errors, [
    'spec.scope: Invalid value: "Cluster": field is immutable',
    'spec.names.kind: Invalid value: "Other": field is immutable',
  ])
  const dropped = definition({ versions: [version({ name: 'v2' })] })
  assert.match(
    tryUpdate(customResourceDefinitionResource, prev, dropped).errors[0] ?? '',
    /^status\.storedVersions\[0\]: Invalid value: "v1": missing from spec\.versions; v1 was previously/,
  )
})

test('a stored schema that is not structural may be kept while unknown fields are', () => {
  const loose = { ...withSchema({ type: 'object', properties: { a: {} } }), status: { storedVersions: ['v1'] } }
  const preserving = { ...loose, spec: { ...loose.spec, preserveUnknownFields: true } }
  assert.deepEqual(tryUpdate(customResourceDefinitionResource, preserving, preserving).errors, [])
  assert.equal(tryUpdate(customResourceDefinitionResource, preserving, loose).errors.length, 1)
})

test('formats nobody knows are warned of, new ones only', () => {
  const object = withField({ type: 'string', format: 'nope' })
  assert.deepEqual(tryCreate(customResourceDefinitionResource, object).warnings, ['unrecognized format "nope"'])
  assert.deepEqual(tryUpdate(customResourceDefinitionResource, object, object).warnings, [])
  assert.deepEqual(tryCreate(customResourceDefinitionResource, withField({ type: 'string', format: 'date-time' })).warnings, [])
})
