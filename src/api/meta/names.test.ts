import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Check } from './check.ts'
import * as names from './names.ts'

const repeat = (text: string, times: number) => text.repeat(times)

const labelError =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
const subdomainError =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
const dns1035Error =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
const keyError =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
const valueError =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"

type Row = [value: string, errors: string[]]

function table(title: string, format: names.Format, rows: Row[]): void {
  test(title, () => {
    for (const [value, errors] of rows) assert.deepEqual(format(value), errors, JSON.stringify(value))
  })
}

table('a DNS label has 63 lower case letters, digits and inner dashes', names.dns1123Label, [
  ['a', []],
  ['0', []],
  ['a--1', []],
  [repeat('a', 63), []],
  ['', [labelError]],
  ['A', [labelError]],
  ['a-', [labelError]],
  ['-a', [labelError]],
  ['a_b', [labelError]],
  ['a b', [labelError]],
  ['a\n', [labelError]],
  ['a.b', ['must not contain dots']],
  [repeat('a', 64), ['must be no more than 63 characters']],
  [repeat('A', 64), ['must be no more than 63 characters', labelError]],
  // 32 characters, but 64 bytes.
  [repeat('é', 32), ['must be no more than 63 characters', labelError]],
  [repeat('é', 31), [labelError]],
])

table('a DNS subdomain is made of labels and has 253 bytes', names.dns1123Subdomain, [
  ['a', []],
  ['1.2.3', []],
  ['a-b.c--d', []],
  [repeat('a', 253), []],
  ['', [subdomainError]],
  ['a..b', [subdomainError]],
  ['a.', [subdomainError]],
  ['.a', [subdomainError]],
  ['a-.b', [subdomainError]],
  ['a.B', [subdomainError]],
  ['a/b', [subdomainError]],
  [repeat('a', 254), ['must be no more than 253 characters']],
])

table('the underscore variant allows underscores except at the end of a label', names.dns1123SubdomainWithUnderscore, [
  ['_a.b_c', []],
  ['_sip._tcp.example.com', []],
  [
    'a_',
    [
      "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')",
    ],
  ],
])

const wildcardError =
  "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
table('a wildcard stands for the first label only', names.wildcardDns1123Subdomain, [
  ['*.example.com', []],
  ['*.a', []],
  ['*', [wildcardError]],
  ['*.', [wildcardError]],
  ['*.*.com', [wildcardError]],
  ['f*.com', [wildcardError]],
  ['example.com', [wildcardError]],
])

table('a DNS-1035 label starts with a letter', names.dns1035Label, [
  ['a', []],
  ['a1-b', []],
  ['1a', [dns1035Error]],
  ['a.b', [dns1035Error]],
  ['', [dns1035Error]],
  [repeat('a', 64), ['must be no more than 63 characters']],
])

table('the short name of declarative validation counts bytes', names.shortName, [
  ['a', []],
  ['a.b', ['must not contain dots']],
  [repeat('a', 64), ['must be no more than 63 bytes']],
])

table('the long name of declarative validation counts bytes', names.longName, [
  ['a.b', []],
  [repeat('a', 254), ['must be no more than 253 bytes']],
  ['A', [subdomainError]],
])

table('the caseless long name takes upper case', names.longNameCaseless, [
  ['Example.COM', []],
  ['\u212aube', []],
  [
    'a_b',
    [
      "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'Example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    ],
  ],
])

table('a qualified name is a name with an optional DNS prefix', names.qualifiedName, [
  ['simple', []],
  ['Now-with_dots.1', []],
  ['1.2.3.4/5678', []],
  ['a/b', []],
  [`${repeat('a', 253)}/${repeat('b', 63)}`, []],
  ['', ['name part must be non-empty', `name part ${keyError}`]],
  ['-a', [`name part ${keyError}`]],
  ['only/', ['name part must be non-empty', `name part ${keyError}`]],
  ['/only', ['prefix part must be non-empty']],
  ['/', ['prefix part must be non-empty', 'name part must be non-empty', `name part ${keyError}`]],
  ['Cap/ok', [`prefix part ${subdomainError}`]],
  ['a/b/c', [`a valid label key ${keyError} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`]],
  [repeat('a', 64), ['name part must be no more than 63 bytes']],
  [`${repeat('a', 254)}/b`, ['prefix part must be no more than 253 bytes']],
])

table('a label value may be empty', names.labelValue, [
  ['', []],
  ['A.b_c-1', []],
  [repeat('a', 63), []],
  ['-a', [valueError]],
  ['a b', [valueError]],
  ['a/b', [valueError]],
  [repeat('a', 64), ['must be no more than 63 bytes']],
  [repeat('-', 64), ['must be no more than 63 bytes', valueError]],
])

test('a generated name may end in a dash while it is a prefix', () => {
  const rows: [names.NameRule, string, boolean, string[]][] = [
    [names.nameIsDns1123Subdomain, 'web-', true, []],
    [names.nameIsDns1123Subdomain, 'web-', false, [subdomainError]],
    [names.nameIsDns1123Subdomain, '-', true, [subdomainError]],
    [names.nameIsDns1123Subdomain, 'a_-', true, []],
    [names.nameIsDns1123Subdomain, 'é-', true, [subdomainError]],
    [names.nameIsDns1123Label, 'a.b-', true, ['must not contain dots']],
    [names.nameIsDns1123Label, `${repeat('a', 63)}-`, true, []],
    [names.nameIsDns1035Label, 'a1-', true, []],
    [names.nameIsDns1035Label, '1a-', true, [dns1035Error]],
    [names.nameIsPathSegment, '.', false, ["may not be '.'"]],
    [names.nameIsPathSegment, '..', false, ["may not be '..'"]],
    [names.nameIsPathSegment, '..', true, []],
    [names.nameIsPathSegment, 'system:a b', false, []],
    [names.nameIsPathSegment, 'a/b%', false, ["may not contain '/'", "may not contain '%'"]],
    [names.nameIsPathSegment, 'a/b%', true, ["may not contain '/'", "may not contain '%'"]],
  ]
  for (const [rule, name, isPrefix, errors] of rows) assert.deepEqual(rule(name, isPrefix), errors, `${name} ${isPrefix}`)
})

test('mustBe reports each message with the value', () => {
  const check = new Check({ spec: { name: 'a.b' } })
  names.mustBe(names.dns1123Label, check.at('spec').at('name'))
  assert.deepEqual(check.errors, [{ type: 'FieldValueInvalid', field: 'spec.name', body: 'Invalid value: "a.b": must not contain dots' }])
})

test('a hostile name costs linear time', () => {
  for (const format of [names.dns1123Subdomain, names.qualifiedName, names.labelValue, names.wildcardDns1123Subdomain]) {
    assert.notDeepEqual(format(`${repeat('a.a-', 100_000)}!`), [])
  }
})
