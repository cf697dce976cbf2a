import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Check } from './check.ts'
import * as formats from './formats.ts'
import type { Format } from './names.ts'

type Row = [value: string, errors: string[]]

function table(title: string, format: Format, rows: Row[]): void {
  test(title, () => {
    for (const [value, errors] of rows) assert.deepEqual(format(value), errors, JSON.stringify(value))
  })
}

const portCharacters = 'must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)'
const portLetter = 'must contain at least one letter (a-z)'
table('the name of a port is a service name', formats.portName, [
  ['http', []],
  ['1-1-a', []],
  ['', [portCharacters, portLetter]],
  ['80', [portLetter]],
  ['HTTP', [portCharacters, portLetter]],
  ['a--b', ['must not contain consecutive hyphens']],
  ['-a', ['must not begin or end with a hyphen']],
  ['a-', ['must not begin or end with a hyphen']],
  ['--', [portLetter, 'must not contain consecutive hyphens', 'must not begin or end with a hyphen']],
  ['this-is-too-long', ['must be no more than 15 characters']],
])

const percentError =
  "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
table('a percentage is digits and a percent sign', formats.percent, [
  ['0%', []],
  ['101%', []],
  ['', [percentError]],
  ['1', [percentError]],
  ['1.5%', [percentError]],
  ['-1%', [percentError]],
])

table('a header is made of letters, digits and dashes', formats.httpHeaderName, [
  ['X-Header-Name', []],
  [
    'Host Name',
    [
      "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')",
    ],
  ],
])

const identifierError =
  "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')"
table('an identifier is as in C', formats.cIdentifier, [
  ['_a1', []],
  ['1a', [identifierError]],
  ['a-b', [identifierError]],
  ['', [identifierError]],
])

const envError =
  "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not start with a digit (e.g. 'my.env-name',  or 'MY_ENV.NAME',  or 'MyEnvName1', regex used for validation is '[-._a-zA-Z][-._a-zA-Z0-9]*')"
table('a variable starts with no digit and is no parent directory', formats.envVarName, [
  ['A_b.c-1', []],
  ['-_.', []],
  ['1a', [envError]],
  ['a=b', [envError]],
  ['', [envError]],
  ['.', ["must not be '.'"]],
  ['..', ["must not be '..'"]],
  ['..a', ["must not start with '..'"]],
  ['..a!', [envError, "must not start with '..'"]],
])

const relaxedError = "a valid environment variable name must consist only of printable ASCII characters other than '='"
table('a relaxed variable is printable ASCII without the equals sign', formats.relaxedEnvVarName, [
  ['1 a!~<>', []],
  ['..', []],
  ['', ['environment variable name must be non-empty']],
  ['a=b', [relaxedError]],
  ['é', [relaxedError]],
  ['a\tb', [relaxedError]],
  ['a\u007f', [relaxedError]],
])

const keyError =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
table('a config key can be a file name', formats.configMapKey, [
  ['.good', []],
  ['a..b', []],
  ['a'.repeat(253), []],
  ['', [keyError]],
  ['a/b', [keyError]],
  ['.', ["must not be '.'"]],
  ['..', ["must not be '..'"]],
  ['..bad', ["must not start with '..'"]],
  ['a'.repeat(254), ['must be no more than 253 characters']],
])

const integerError = 'must be a valid decimal integer in canonical form'
table('a decimal integer is written as people write it', formats.decimalInteger, [
  ['0', []],
  ['-12', []],
  ['120', []],
  ['', ['must be non-empty']],
  ['-', [integerError]],
  ['-0', [integerError]],
  ['007', [integerError]],
  ['+1', [integerError]],
  ['1e3', [integerError]],
])

const uuidError = 'must be a lowercase UUID in 8-4-4-4-12 format'
table('a UUID is in lower case', formats.uuid, [
  ['123e4567-e89b-12d3-a456-426614174000', []],
  ['123E4567-e89b-12d3-a456-426614174000', [uuidError]],
  ['123e4567e89b12d3a456426614174000', [uuidError]],
])

test('ports and ids lie in their ranges', () => {
  const cases: [string[], string[]][] = [
    [formats.portNum(1), []],
    [formats.portNum(65535), []],
    [formats.portNum(0), ['must be between 1 and 65535, inclusive']],
    [formats.portNum(65536), ['must be between 1 and 65535, inclusive']],
    [formats.userId(0), []],
    [formats.userId(-1), ['must be between 0 and 2147483647, inclusive']],
    [formats.groupId(2147483648), ['must be between 0 and 2147483647, inclusive']],
    [formats.inRange(5, 1, 3), ['must be between 1 and 3, inclusive']],
  ]
  for (const [actual, expected] of cases) assert.deepEqual(actual, expected)
})

test('names under a domain report the part that is wrong', () => {
  const subdomain =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
  const cases: [(check: Check<string>) => void, string, string[]][] = [
    [formats.fullyQualifiedName, '', ['Required value']],
    [formats.fullyQualifiedName, 'a.b.c', []],
    [formats.fullyQualifiedName, 'a.b', ['Invalid value: "a.b": should be a domain with at least three segments separated by dots']],
    [formats.fullyQualifiedName, 'a.b.c.', [`Invalid value: "a.b.c.": ${subdomain}`]],
    [formats.fullyQualifiedDomainName, '', ['Required value']],
    [formats.fullyQualifiedDomainName, 'a.b.', []],
    [formats.fullyQualifiedDomainName, 'a', ['Invalid value: "a": should be a domain with at least two segments separated by dots']],
    [formats.fullyQualifiedDomainName, 'A.b.', [`Invalid value: "A.b": ${subdomain}`]],
    [formats.fullyQualifiedDomainName, `${'x'.repeat(64)}.b`, [`Invalid value: "${'x'.repeat(64)}": must be no more than 63 characters`]],
    [formats.domainPrefixedPath, '', ['Required value']],
    [formats.domainPrefixedPath, 'acme.io/foo/bar%20', []],
    [formats.domainPrefixedPath, 'acme.io', ['Invalid value: "acme.io": must be a domain-prefixed path (such as "acme.io/foo")']],
    [formats.domainPrefixedPath, '/foo', ['Invalid value: "/foo": must be a domain-prefixed path (such as "acme.io/foo")']],
    [formats.domainPrefixedPath, 'acme.io/', ['Invalid value: "acme.io/": must be a domain-prefixed path (such as "acme.io/foo")']],
    [
      formats.domainPrefixedPath,
      'A/f oo',
      [
        `Invalid value: "A": ${subdomain}`,
        "Invalid value: \"f oo\": Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')",
      ],
    ],
    [formats.domainPrefixedKey, 'acme.io/foo', []],
    [formats.domainPrefixedKey, 'foo', ['Invalid value: "foo": must be a domain-prefixed key (such as "acme.io/foo")']],
    [formats.resourcePoolName, 'a/b.c', []],
    [
      formats.resourcePoolName,
      'a//B',
      ['Invalid value: "a//B": segment 1: must not be empty', `Invalid value: "B": segment 2: ${subdomain}`],
    ],
    [formats.extendedResourceName, 'example.com/gpu', []],
    [formats.extendedResourceName, 'gpu', ['Invalid value: "gpu": a name must be a domain-prefixed path, such as \'example.com/my-prop\'']],
    [
      formats.extendedResourceName,
      'requests.kubernetes.io/gpu',
      [
        'Invalid value: "requests.kubernetes.io/gpu": must not have "kubernetes.io/" domain',
        'Invalid value: "requests.kubernetes.io/gpu": must not have "requests." prefix',
      ],
    ],
    [formats.resourceFullyQualifiedName, 'example.com/model', []],
    [
      formats.resourceFullyQualifiedName,
      'model',
      ['Invalid value: "model": a fully qualified name must be a domain and a name separated by a slash'],
    ],
    [formats.resourceFullyQualifiedName, '/', ['Invalid value: "": prefix must not be empty', 'Invalid value: "": name must not be empty']],
    [formats.resourceFullyQualifiedName, `a/${'x'.repeat(33)}`, ['Too long: may not be more than 32 bytes']],
  ]
  for (const [format, value, bodies] of cases) {
    const check = new Check(value, 'spec')
    format(check)
    assert.deepEqual(
      check.errors.map((error) => error.body),
      bodies,
      `${format.name} ${value}`,
    )
  }
})
