/** Texts of a custom resource: each format, pattern and rule that may look at one. */
import type { LongString } from './long-strings.ts'
import { shaped } from './long-strings.ts'

const formats = [
  ...[
    'bsonobjectid',
    'uri',
    'email',
    'hostname',
    'ipv4',
    'ipv6',
    'cidr',
    'mac',
    'uuid',
    'isbn',
    'creditcard',
    'ssn',
    'hexcolor',
    'rgbcolor',
  ],
  ...['byte', 'password', 'date', 'duration', 'date-time', 'k8s-short-name', 'k8s-long-name'],
]

const rules: Readonly<Record<string, string>> = {
  equal: "self == 'x'",
  size: 'size(self) < 3',
  trim: "self.trim() == 'x'",
  int: 'int(self) == 1',
  uint: 'uint(self) == 1u',
  double: 'double(self) == 1.0',
  bytes: 'size(bytes(self)) == 1',
  duration: "duration(self) == duration('1s')",
  timestamp: "timestamp(self) == timestamp('2026-01-01T00:00:00Z')",
  quantity: 'isQuantity(self)',
  url: 'isURL(self)',
  ip: 'isIP(self)',
  cidr: 'isCIDR(self)',
  semver: 'isSemver(self)',
  matches: "self.matches('^(a+)+$')",
  find: "self.find('(a|b)*c') == 'x'",
  split: "size(self.split(',')) == 1",
  replace: "self.replace('a', 'b') == 'x'",
  lower: "self.lowerAscii() == 'x'",
  index: "self.indexOf('x') == 0",
  last: "self.lastIndexOf('y') == 0",
  character: "self.charAt(3) == 'x'",
  part: "self.substring(3) == 'x'",
  quoted: "strings.quote(self) == 'x'",
  formatted: "'%s and %s'.format([self, self]) == 'x'",
  joined: "(self + self) == 'x'",
  starts: "self.startsWith('x') || self.endsWith('x') || self.contains('y')",
}

const text = { type: 'string', maxLength: 2_000_000 }
/** What upstream's estimate of its cost lets through. */
const named = {
  ...text,
  maxLength: 200_000,
  'x-kubernetes-validations': [{ rule: '!format.dns1123Subdomain().validate(self).hasValue()' }],
}
const properties: Record<string, object> = {
  plain: text,
  short: { ...text, maxLength: 3 },
  chosen: { ...text, enum: ['a', 'b'] },
  patterned: { ...text, pattern: '^(a+)+(b|c)*$' },
  either: { 'x-kubernetes-int-or-string': true },
  number: { type: 'integer' },
  named,
  ...Object.fromEntries(formats.map((format) => [`format-${format}`, { ...text, format }])),
  ...Object.fromEntries(Object.entries(rules).map(([name, rule]) => [`rule-${name}`, { ...text, 'x-kubernetes-validations': [{ rule }] }])),
}

export const stringsSchema = { type: 'object', properties }

export function customStrings(): LongString[] {
  const apiVersion = 'attack.example.com/v1'
  return Object.keys(properties).map((name) => ({
    apiVersion,
    kind: 'Attacked',
    path: ['strings', name],
    type: `Attacked.strings.${name}`,
    mergeKey: undefined,
    sound: () => ({ apiVersion, kind: 'Attacked', metadata: {}, spec: {} }),
    value: (count, shape) => shaped(shape, count),
  }))
}
