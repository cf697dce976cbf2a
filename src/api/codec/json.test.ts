import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DecodeError } from './decode-error.ts'
import { canonicalize, decodeJson, decodeValue, encodeJson, readJson, strictDecodingError } from './json.ts'
import { typeMetaOf } from './type-meta.ts'

const types = {
  configMap: 'io.k8s.api.core.v1.ConfigMap',
  crd: 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition',
  deployment: 'io.k8s.api.apps.v1.Deployment',
  event: 'io.k8s.api.core.v1.Event',
  lease: 'io.k8s.api.coordination.v1.Lease',
  pdb: 'io.k8s.api.policy.v1.PodDisruptionBudget',
  pod: 'io.k8s.api.core.v1.Pod',
  priorityClass: 'io.k8s.api.scheduling.v1.PriorityClass',
  quota: 'io.k8s.api.core.v1.ResourceQuota',
  role: 'io.k8s.api.rbac.v1.Role',
  secret: 'io.k8s.api.core.v1.Secret',
  service: 'io.k8s.api.core.v1.Service',
}

const bytes = (text: string): Uint8Array => Buffer.from(text)
const decoded = (text: string, type: string): unknown => decodeJson(bytes(text), type).object

test('a value of the wrong kind is refused in Go’s words', () => {
  const cases: [type: string, json: string, message: string][] = [
    [types.pod, '{"metadata":{"name":5}}', 'json: cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type string'],
    [types.configMap, '{"metadata":"x"}', 'json: cannot unmarshal string into Go struct field ConfigMap.metadata of type v1.ObjectMeta'],
    [types.configMap, '{"data":{"a":true}}', 'json: cannot unmarshal bool into Go struct field ConfigMap.data of type string'],
    [
      types.deployment,
      '{"spec":{"replicas":"3"}}',
      'json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32',
    ],
    [
      types.deployment,
      '{"spec":{"template":{"spec":{"containers":{}}}}}',
      'json: cannot unmarshal object into Go struct field PodSpec.spec.template.spec.containers of type []v1.Container',
    ],
    [
      types.service,
      '{"spec":{"ports":[{"port":"x"}]}}',
      'json: cannot unmarshal string into Go struct field ServicePort.spec.ports.port of type int32',
    ],
    [
      types.service,
      '{"spec":{"selector":"a=b"}}',
      'json: cannot unmarshal string into Go struct field ServiceSpec.spec.selector of type map[string]string',
    ],
    [
      types.service,
      '{"spec":{"type":1}}',
      'json: cannot unmarshal number into Go struct field ServiceSpec.spec.type of type v1.ServiceType',
    ],
    [types.role, '{"rules":"x"}', 'json: cannot unmarshal string into Go struct field Role.rules of type []v1.PolicyRule'],
    [
      types.pdb,
      '{"spec":{"minAvailable":true}}',
      'json: cannot unmarshal bool into Go struct field PodDisruptionBudgetSpec.spec.minAvailable of type int32',
    ],
    [
      types.pdb,
      '{"spec":{"selector":{"matchLabels":[]}}}',
      'json: cannot unmarshal array into Go struct field LabelSelector.spec.selector.matchLabels of type map[string]string',
    ],
    [types.priorityClass, '{"value":1.5}', 'json: cannot unmarshal number 1.5 into Go struct field PriorityClass.value of type int32'],
    [types.priorityClass, '{"value":1.0}', 'json: cannot unmarshal number 1.0 into Go struct field PriorityClass.value of type int32'],
    [types.priorityClass, '{"value":1e3}', 'json: cannot unmarshal number 1e3 into Go struct field PriorityClass.value of type int32'],
    [
      types.priorityClass,
      '{"value":2147483648}',
      'json: cannot unmarshal number 2147483648 into Go struct field PriorityClass.value of type int32',
    ],
    [
      types.pod,
      '{"spec":{"securityContext":{"supplementalGroups":[1.0]}}}',
      'json: cannot unmarshal number 1.0 into Go struct field PodSecurityContext.spec.securityContext.supplementalGroups of type int64',
    ],
    [
      types.pod,
      '{"metadata":{"generation":9223372036854775808}}',
      'json: cannot unmarshal number 9223372036854775808 into Go struct field ObjectMeta.metadata.generation of type int64',
    ],
    [
      types.pod,
      '{"metadata":{"creationTimestamp":5}}',
      'json: cannot unmarshal number into Go struct field ObjectMeta.metadata.creationTimestamp of type string',
    ],
    [
      types.pod,
      '{"metadata":{"creationTimestamp":"now"}}',
      'parsing time "now" as "2006-01-02T15:04:05Z07:00": cannot parse "now" as "2006"',
    ],
    [
      types.lease,
      '{"spec":{"renewTime":"2024-05-01T10:20:30Z"}}',
      'parsing time "2024-05-01T10:20:30Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"',
    ],
    [
      types.pod,
      '{"spec":{"volumes":[{"hostPath":"x"}]}}',
      'json: cannot unmarshal string into Go struct field Volume.spec.volumes.VolumeSource.hostPath of type v1.HostPathVolumeSource',
    ],
    [types.secret, '{"data":{"a":"%"}}', 'illegal base64 data at input byte 0'],
    [
      types.quota,
      '{"spec":{"hard":{"cpu":"x"}}}',
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ],
    [
      types.crd,
      '{"spec":{"versions":[{"schema":{"openAPIV3Schema":{"properties":{"a":{"minimum":"x"}}}}}]}}',
      'json: cannot unmarshal string into Go struct field JSONSchemaProps.spec.versions.schema.openAPIV3Schema.properties.minimum of type float64',
    ],
    [
      types.crd,
      '{"spec":{"versions":[{"schema":{"openAPIV3Schema":{"items":{"minimum":"x"}}}}]}}',
      'json: cannot unmarshal string into Go struct field JSONSchemaProps.spec.versions.schema.openAPIV3Schema.items.minimum of type float64',
    ],
    [types.crd, '{"spec":{"versions":[{"schema":{"openAPIV3Schema":{"additionalProperties":1}}}]}}', 'boolean or JSON schema expected'],
  ]
  for (const [type, json, message] of cases) assert.throws(() => decodeJson(bytes(json), type), new DecodeError(message), json)
})

test('the first mismatch is reported, but what decodes itself ends the decoding at once', () => {
  const mismatches = '{"metadata":{"name":1,"namespace":2}}'
  assert.throws(() => decodeJson(bytes(mismatches), types.pod), /metadata\.name /)
  const timeLast = '{"metadata":{"name":1,"creationTimestamp":"now"}}'
  assert.throws(() => decodeJson(bytes(timeLast), types.pod), /parsing time "now"/)
})

test('what the fast walk does not take is decoded in steps, between which others may decode', () => {
  const steps = readJson(bytes('{"metadata":{"name":"one","name":"two"},"spec":{"containers":[]}}')).decoding(types.pod)
  const other = '{"metadata":{"name":"other"},"spec":{"nodeSelector":{}}}'
  const alone = decodeJson(bytes(other), types.pod)
  let yields = 0
  for (;;) {
    const { done, value } = steps.next()
    assert.deepEqual(canonicalize({ metadata: { name: 'a', labels: {} } }, types.configMap), { metadata: { name: 'a' } })
    assert.deepEqual(decodeJson(bytes(other), types.pod), alone)
    if (!done) {
      yields++
      continue
    }
    assert.deepEqual(value.object, { metadata: { name: 'two' }, spec: { containers: [] }, status: {} })
    assert.deepEqual(value.strictErrors, ['duplicate field "metadata.name"'])
    break
  }
  assert.equal(yields, 3)
})

test('unknown and duplicate fields are told with their paths, in the order they come', () => {
  const cases: [type: string, json: string, errors: string[]][] = [
    [types.pod, '{"nope":1,"metadata":{"nope":{"x":1},"name":"a"}}', ['unknown field "nope"', 'unknown field "metadata.nope"']],
    [types.pod, '{"spec":{"containers":[{"name":"a"},{"nope":1}]}}', ['unknown field "spec.containers[1].nope"']],
    [types.pod, '{"Kind":"Pod"}', ['unknown field "Kind"']],
    [types.pod, '{"kind":"Pod","kind":"Pod","kind":"Pod"}', ['duplicate field "kind"']],
    [types.configMap, '{"data":{"a":"1","a":"2"}}', ['duplicate field "data.a"']],
    [types.configMap, '{"data":{"a" : "1", "a":"2"}}', ['duplicate field "data.a"']],
    [
      types.configMap,
      '{"data":{"a":"x","b":"1","b":"2"},"binaryData":{"c":"","c":""}}',
      ['duplicate field "data.b"', 'duplicate field "binaryData.c"'],
    ],
    [types.configMap, '{"metadata":{"a\\"b":1}}', ['unknown field "metadata.a\\"b"']],
    // What keeps its bytes in Go is not looked into.
    [
      types.crd,
      '{"spec":{"versions":[{"schema":{"openAPIV3Schema":{"default":{"a":1,"a":2},"items":{"nope":1},"nope":1}}}]}}',
      ['unknown field "spec.versions[0].schema.openAPIV3Schema.nope"'],
    ],
    [types.configMap, '{"metadata":{"name":"a"},"data":{"a":":","b":" :","c":"\\":","d":"x\\\\"}}', []],
  ]
  for (const [type, json, errors] of cases) assert.deepEqual(decodeJson(bytes(json), type).strictErrors, errors, json)
  assert.equal(
    strictDecodingError(['unknown field "a"', 'duplicate field "b"']),
    'strict decoding error: unknown field "a", duplicate field "b"',
  )
})

test('no more than a hundred unknown fields are told', () => {
  const fields = Array.from({ length: 150 }, (_, index) => `"x${index}":1`)
  assert.equal(decodeJson(bytes(`{${fields.join()}}`), types.pod).strictErrors.length, 100)
})

test('a key that comes twice is decoded over the first, as in Go', () => {
  const cases: [type: string, json: string, object: unknown][] = [
    [types.configMap, '{"metadata":{"name":"a"},"metadata":{"namespace":"b"}}', { metadata: { name: 'a', namespace: 'b' } }],
    [types.configMap, '{"data":{"a":"1"},"data":{"b":"2"}}', { metadata: {}, data: { a: '1', b: '2' } }],
    [types.configMap, '{"immutable":true,"immutable":null}', { metadata: {} }],
    [types.configMap, '{"kind":"A","kind":null}', { kind: 'A', metadata: {} }],
  ]
  for (const [type, json, object] of cases) assert.deepEqual(decoded(json, type), object, json)
})

test('a list that is sent empty where Go writes null stays one until it is stored', () => {
  assert.deepEqual(decoded('{"rules":[]}', types.role), { metadata: {}, rules: [] })
  assert.deepEqual(decoded('{}', types.role), { metadata: {}, rules: null })
  assert.deepEqual(decoded('{"rules":[],"nope":1}', types.role), { metadata: {}, rules: [] })
})

test('what comes out has the shape of Go’s structs', () => {
  const container = { name: 'a', resources: {} }
  const cases: [type: string, json: string, object: unknown][] = [
    [types.pod, '{}', { metadata: {}, spec: { containers: [] }, status: {} }],
    [types.pod, '{"metadata":null,"spec":null,"status":null}', { metadata: {}, spec: { containers: [] }, status: {} }],
    [
      types.pod,
      '{"spec":{"containers":[{"name":"a","image":"","command":[],"stdin":false}],"nodeName":""}}',
      { metadata: {}, spec: { containers: [container] }, status: {} },
    ],
    [types.pod, '{"spec":{"containers":[null]}}', { metadata: {}, spec: { containers: [{ name: '', resources: {} }] }, status: {} }],
    [
      types.pod,
      '{"metadata":{"labels":{},"creationTimestamp":null,"generation":0}}',
      { metadata: {}, spec: { containers: [] }, status: {} },
    ],
    [
      types.pod,
      '{"spec":{"priority":0,"hostNetwork":false,"enableServiceLinks":false}}',
      { metadata: {}, spec: { containers: [], priority: 0, enableServiceLinks: false }, status: {} },
    ],
    [types.role, '{"rules":[]}', { metadata: {}, rules: null }],
    [types.configMap, '{"data":{"b":null,"a":"x"}}', { metadata: {}, data: { a: 'x', b: '' } }],
    [
      types.event,
      '{}',
      {
        metadata: {},
        involvedObject: {},
        source: {},
        firstTimestamp: null,
        lastTimestamp: null,
        eventTime: null,
        reportingComponent: '',
        reportingInstance: '',
      },
    ],
    [
      types.quota,
      '{"spec":{"hard":{"cpu":"1000m","memory":1024,"pods":"1e3"}}}',
      { metadata: {}, spec: { hard: { cpu: '1', memory: '1024', pods: '1e3' } }, status: {} },
    ],
    [types.secret, '{"data":{"a":"YQ==\\n","b":"YR==","c":""}}', { metadata: {}, data: { a: 'YQ==', b: 'YQ==', c: '' } }],
    [
      types.pod,
      '{"metadata":{"creationTimestamp":"2024-05-01T12:20:30.5+02:00"}}',
      { metadata: { creationTimestamp: '2024-05-01T10:20:30Z' }, spec: { containers: [] }, status: {} },
    ],
    [types.pod, '{"metadata":{"creationTimestamp":"0001-01-01T00:00:00Z"}}', { metadata: {}, spec: { containers: [] }, status: {} }],
    [
      types.lease,
      '{"spec":{"renewTime":"2024-05-01T12:20:30.123456+02:00"}}',
      { metadata: {}, spec: { renewTime: '2024-05-01T10:20:30.123456Z' } },
    ],
    [types.configMap, '{"metadata":{"name":"\\ud800x"}}', { metadata: { name: '\ufffdx' } }],
    [types.pod, '{"metadata":{"generation":-0}}', { metadata: {}, spec: { containers: [] }, status: {} }],
  ]
  for (const [type, json, object] of cases) assert.deepEqual(canonicalize(decoded(json, type) as object, type), object, json)
})

test('fields come out in the order of Go’s structs, keys of maps sorted', () => {
  const json =
    '{"spec":{"nodeName":"n","containers":[{"image":"i","name":"c"}]},"apiVersion":"v1","metadata":{"labels":{"b":"2","a":"1"},"name":"p"},"kind":"Pod"}'
  const text = encodeJson(decodeJson(bytes(json), types.pod).object, types.pod).toString()
  assert.equal(
    text,
    '{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","labels":{"a":"1","b":"2"}},"spec":{"containers":[{"name":"c","image":"i","resources":{}}],"nodeName":"n"},"status":{}}',
  )
})

test('integers that no double can hold come through unharmed', () => {
  const json = '{"kind":"Pod","apiVersion":"v1","metadata":{"generation":9223372036854775807},"spec":{"containers":[]},"status":{}}'
  const { object } = decodeJson<{ metadata: { generation: bigint } }>(bytes(json), types.pod)
  assert.equal(object.metadata.generation, 9223372036854775807n)
  assert.equal(encodeJson(object, types.pod).toString(), json)
})

test('keys that mean something to JavaScript are keys like any other', () => {
  const json = '{"metadata":{"labels":{"__proto__":"a","constructor":"b"}},"data":{"z":"1","__proto__":"2"}}'
  const text = encodeJson(decodeJson(bytes(json), types.configMap).object, types.configMap).toString()
  assert.equal(text, '{"metadata":{"labels":{"__proto__":"a","constructor":"b"}},"data":{"__proto__":"2","z":"1"}}')
})

test('what code made is brought into shape, undefined fields included', () => {
  const object = { spec: { replicas: 0, paused: false, selector: undefined }, metadata: { name: 'a', labels: {} } }
  assert.equal(
    JSON.stringify(canonicalize(object, types.deployment)),
    '{"metadata":{"name":"a"},"spec":{"replicas":0,"template":{"metadata":{},"spec":{"containers":[]}},"strategy":{}},"status":{}}',
  )
})

test('what was parsed already is decoded by the same rules', () => {
  assert.deepEqual(decodeValue({ nope: 1, metadata: { name: 'a' } }, types.configMap), {
    object: { metadata: { name: 'a' } },
    strictErrors: ['unknown field "nope"'],
  })
  assert.throws(
    () => decodeValue({ metadata: { name: 5 } }, types.configMap),
    /cannot unmarshal number into Go struct field ObjectMeta\.metadata\.name/,
  )
})

test('keys that come twice are found in JSON of no type, too', () => {
  const cases: [string, string[]][] = [
    ['{"a":1,"b":{"c":[{"d":1}]}}', []],
    ['{"a":":x"}', []],
    ['{"a":1,"b":{"c":[{"d":1,"d":2}]},"a":3}', ['duplicate field "b.c[0].d"', 'duplicate field "a"']],
  ]
  for (const [json, errors] of cases) assert.deepEqual(readJson(bytes(json)).duplicateFields(), errors, json)
  assert.throws(
    () => readJson(bytes(`${'{"a":'.repeat(9_000)}1${'}'.repeat(9_000)}`)).duplicateFields(),
    new DecodeError('exceeded max depth'),
  )
})

test('what is no JSON is refused in Go’s words', () => {
  const cases: [string, string][] = [
    ['', 'unexpected end of JSON input'],
    ['kind: Pod', "invalid character 'k' looking for beginning of value"],
    ['{"a":1', 'unexpected end of JSON input'],
    ['{"a" 1}', "invalid character '1' after object key"],
    ['{a:1}', "invalid character 'a' looking for beginning of object key string"],
    ['{"a":1,}', "invalid character '}' looking for beginning of object key string"],
    ['{"a":1 "b":2}', "invalid character '\"' after object key:value pair"],
    ['[1 2]', "invalid character '2' after array element"],
    ['[1,]', "invalid character ']' looking for beginning of value"],
    ['{} x', "invalid character 'x' after top-level value"],
    ['nul', 'unexpected end of JSON input'],
    ['nulx', "invalid character 'x' in literal null (expecting 'l')"],
    ['tRue', "invalid character 'R' in literal true (expecting 'r')"],
    ['-x', "invalid character 'x' in numeric literal"],
    ['01', "invalid character '1' after top-level value"],
    ['1.x', "invalid character 'x' after decimal point in numeric literal"],
    ['1ex', "invalid character 'x' in exponent of numeric literal"],
    ['"\u0001"', "invalid character '\\x01' in string literal"],
    ['"\\x"', "invalid character 'x' in string escape code"],
    ['"\\u12g4"', "invalid character 'g' in \\u hexadecimal character escape"],
    ["'a'", "invalid character '\\'' looking for beginning of value"],
    ['\ufeff{}', "invalid character 'ï' looking for beginning of value"],
  ]
  for (const [json, message] of cases) assert.throws(() => readJson(bytes(json)), new DecodeError(message), json)
})

test('the kind is found whatever the case of the key, and complaints name the type that was to hold it', () => {
  const goType = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
  assert.deepEqual(typeMetaOf(readJson(bytes('{"Kind":"Pod","apiVersion":"v1"}')).value), { apiVersion: 'v1', kind: 'Pod' })
  assert.deepEqual(typeMetaOf(readJson(bytes('null')).value), { apiVersion: '', kind: '' })
  assert.throws(
    () => typeMetaOf([]),
    new DecodeError(`couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type ${goType}`),
  )
  assert.throws(() => typeMetaOf({ kind: 1 }), /json: cannot unmarshal number into Go struct field \.kind of type string$/)
})

test('bombs of depth are refused', () => {
  const deep = (levels: number): Uint8Array => bytes(`{"metadata":{"x":${'['.repeat(levels)}${']'.repeat(levels)}}}`)
  assert.throws(() => decodeJson(deep(1_000_000), types.pod), new DecodeError("invalid character '[' exceeded max depth"))
  assert.throws(() => decodeJson(deep(10_000), types.pod), new DecodeError("invalid character '[' exceeded max depth"))
  assert.deepEqual(decodeJson(deep(9_990), types.pod).strictErrors, ['unknown field "metadata.x"'])
  const schemas = `${'{"properties":{"a":'.repeat(4_900)}{}${'}}'.repeat(4_900)}`
  assert.throws(
    () => decodeJson(bytes(`{"spec":{"versions":[{"schema":{"openAPIV3Schema":${schemas}}}]}}`), types.crd),
    new DecodeError('exceeded max depth'),
  )
  const raw = `{"data":${'[['.repeat(4_000)}${']]'.repeat(4_000)}}`
  assert.throws(() => decodeJson(bytes(raw), 'io.k8s.api.apps.v1.ControllerRevision'), new DecodeError('exceeded max depth'))
})
