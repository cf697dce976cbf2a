import assert from 'node:assert/strict'
import { test } from 'node:test'
import { valueInEnvFile } from '#kubelet/environment/env-file.ts'

const found: [text: string, value: string][] = [
  ["K='v'", 'v'],
  ["  K='v' # why", 'v'],
  ["# K='no'\n\nA='1'\nK='$HOME \\n'\n", '$HOME \\n'],
  ["K='one\ntwo'\nL='3'", 'one\ntwo'],
  ["A='#\nK=no'\nK='yes'", 'yes'],
  ["K= 'v'", ''],
  ["K='first'\nK='second'", 'first'],
  ["A='1'", ''],
  ['', ''],
  ["K='v'\r\n", 'v'],
]

for (const [text, value] of found) {
  test(`${JSON.stringify(text)} has ${JSON.stringify(value)}`, () => assert.equal(valueInEnvFile(text, 'K'), value))
}

const wrong: [text: string, message: string][] = [
  ['K', "invalid environment variable format at line 1: missing '='"],
  ["\n='v'", 'invalid environment variable format at line 2: empty variable name'],
  ["K ='v'", "invalid environment variable format at line 1: whitespace before '=' is not allowed"],
  ['K=v', 'invalid environment variable format at line 1: value must be enclosed in single quotes'],
  ["K='v'w", 'invalid environment variable format at line 1: unexpected content after closing quote'],
  ["A='1'\nK='v\nw", 'invalid environment variable format starting at line 2: unclosed single quote'],
]

for (const [text, message] of wrong) {
  test(`${JSON.stringify(text)} is refused`, () => assert.throws(() => valueInEnvFile(text, 'K'), { message }))
}
