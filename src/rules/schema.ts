/**
 * JSON Schemas of the risk team's files, for completion in editors, and the catalogue of facts: all written from the
 * definitions that the loader checks with. The loader stays the judge; what a schema can't say, it says.
 */
import { longestWindowHours } from '../domain/cap-book.ts';
import { queueShape } from '../domain/offer.ts';
import {
  capName,
  economicsParameters,
  eventTypes,
  limitParameters,
  type Parameter,
  reviewAnswers,
  reviewMinutes,
} from './events.ts';
import { catalogue, type FactDefinition } from './facts.ts';
import { listFacts } from './lists.ts';
import { accepts, decorators, operators, valueTypes } from './operators.ts';
import { codeShape } from './rule-file.ts';
import { budgets, timeouts } from './sources.ts';
import { valueUnits } from './value-tables.ts';

type Schema = { [key: string]: unknown };

const dialect = 'http://json-schema.org/draft-07/schema#';

function strict(required: readonly string[], properties: Schema): Schema {
  return { type: 'object', additionalProperties: false, required, properties };
}

function listOf(items: Schema, more: Schema = {}): Schema {
  return { type: 'array', items, minItems: 1, ...more };
}

const text = (maxLength: number, description: string): Schema => ({
  type: 'string',
  minLength: 1,
  maxLength,
  description,
});
const day = { type: 'string', pattern: '^\\d{4}-\\d{2}-\\d{2}$', description: 'A day in São Paulo, included.' };

function describe({ type, unit, present, range }: FactDefinition): string {
  const measure = unit === null ? type : `${type}, ${unit}`;
  return `${measure}${range === null ? '' : `, ${range.min} … ${range.max}`}. There: ${present}.`;
}

function valueSchema({ type, range, values }: FactDefinition): Schema {
  switch (type) {
    case 'number':
      return { type: 'number', ...(range && { minimum: range.min, maximum: range.max }) };
    case 'boolean':
      return { type: 'boolean' };
    case 'string':
      return values === null ? { type: 'string', minLength: 1 } : { enum: values };
    case 'string-list':
      return { type: 'array', items: { type: 'string' } };
    default:
      return type satisfies never;
  }
}

function fieldSchemas(known: Readonly<Record<string, Parameter<string>>>, isNullable: boolean): Schema {
  return Object.fromEntries(
    Object.entries(known).map(([key, { measure }]) => {
      const { unit, min, max, decimals } = measure;
      const type = isNullable ? ['number', 'null'] : 'number';
      const grain = decimals === null ? {} : { multipleOf: Number((10 ** -decimals).toFixed(decimals)) };
      return [key, { type, minimum: min, maximum: max, ...grain, description: unit }];
    }),
  );
}

function comparisonSchema(): Schema {
  const plain = (type: FactDefinition['type']) =>
    operators.filter((operator) => valueTypes.some((value) => accepts([], operator, type, value)));
  const byFact = catalogue.map((fact) => {
    const own = fact.type === 'string-list' ? {} : valueSchema(fact);
    const properties = {
      operator: { anyOf: [{ enum: plain(fact.type) }, { pattern: ':' }] },
      value: { anyOf: [{ type: 'object' }, { type: 'array' }, own] },
    };
    const isFact = { properties: { fact: { const: fact.name } } };
    return { anyOf: [{ not: isFact }, { properties }] };
  });
  return {
    ...strict(['fact', 'operator', 'value'], {
      fact: {
        anyOf: [
          { enum: [...catalogue.map((fact) => fact.name), 'desk.holiday'] },
          { pattern: '^(extra|score|list|computed|values|source)(\\.[A-Za-z0-9_.-]+)?$' },
        ],
      },
      operator: {
        anyOf: [{ enum: operators }, { pattern: `^((${decorators.join('|')}):){1,4}(${operators.join('|')})$` }],
      },
      value: { description: 'A value, a list for "in", or {"fact": …}.' },
      path: { type: 'string', description: 'Keys joined by dots below the fact: "$.key.inner".' },
      ...asides,
    }),
    allOf: byFact,
  };
}

const priority = {
  anyOf: [
    { type: 'integer', minimum: 1, maximum: 1_000_000 },
    { type: 'string', pattern: '^\\d{1,7}$' },
  ],
};
/** Of json-rules-engine; neither changes what a condition means. */
const asides: Schema = { name: text(200, 'For people.'), priority };

const definitions: Schema = {
  condition: {
    anyOf: [
      { $ref: '#/definitions/group' },
      strict(['condition'], { condition: text(60, 'A name from conditions.json.'), ...asides }),
      { $ref: 'facts.json#/definitions/comparison' },
    ],
  },
  group: {
    anyOf: [
      strict(['all'], { all: listOf({ $ref: '#/definitions/condition' }), ...asides }),
      strict(['any'], { any: listOf({ $ref: '#/definitions/condition' }), ...asides }),
      strict(['not'], { not: { $ref: '#/definitions/condition' }, ...asides }),
      strict(['atLeast', 'of'], {
        atLeast: { type: 'integer', minimum: 1, description: 'So many of them hold, or more.' },
        of: listOf({ $ref: '#/definitions/condition' }, { minItems: 2 }),
        ...asides,
      }),
    ],
  },
};

const byFact: Schema = strict(['fact'], { fact: text(200, 'A fact of the same unit, perhaps one of facts.json.') });

function paramsOf(type: (typeof eventTypes)[number]): Schema {
  switch (type) {
    case 'pass':
      return strict(['code', 'reason'], {
        code: { type: 'string', pattern: codeShape.source, description: 'Declared in codes.json.' },
        reason: text(300, 'For people.'),
      });
    case 'limit': {
      const fields = Object.entries(fieldSchemas(limitParameters, false)).map(([key, schema]) => [
        key,
        { anyOf: [schema, byFact] },
      ]);
      return { ...strict([], Object.fromEntries(fields)), minProperties: 1 };
    }
    case 'economics':
      return { ...strict([], fieldSchemas(economicsParameters, false)), minProperties: 1 };
    case 'segment':
      return strict(['dimensions'], { dimensions: listOf({ type: ['string', 'object'] }, { maxItems: 4 }) });
    case 'strategy':
      return {
        ...strict([], {
          optimise: { const: true },
          fixedRatePercent: { type: 'number', minimum: 0.02, maximum: 4.97 },
          undercutPercent: { type: 'number', minimum: 0, maximum: 4.97 },
        }),
        minProperties: 1,
        maxProperties: 1,
      };
    case 'cap':
      return strict(['name', 'keyFacts', 'window'], {
        name: { type: 'string', pattern: capName.source },
        keyFacts: { type: 'array', maxItems: 4, items: { type: 'string' } },
        window: {
          anyOf: [
            { const: 'day' },
            strict(['hours'], { hours: { type: 'integer', minimum: 1, maximum: longestWindowHours } }),
          ],
        },
        maxAmountReais: { anyOf: [{ type: 'number', minimum: 0 }, byFact] },
        maxCount: { anyOf: [{ type: 'integer', minimum: 0 }, byFact] },
        paced: { type: 'boolean', description: "A day's amount, spent where it earns most over the whole day." },
      });
    case 'experiment':
      return strict(['name', 'layer', 'share'], {
        name: { type: 'string', pattern: capName.source },
        layer: { type: 'string', pattern: capName.source, description: 'A worker is in one experiment of a layer.' },
        share: { type: 'number', minimum: 0.001, maximum: 0.999, description: 'Of the workers, treated.' },
        economics: paramsOf('economics'),
        strategy: paramsOf('strategy'),
      });
    case 'review':
      return strict(['queue', 'minutes'], {
        queue: { type: 'string', pattern: queueShape.source, description: 'Of the people who answer.' },
        minutes: { type: 'integer', minimum: reviewMinutes.min, maximum: reviewMinutes.max },
        otherwise: { enum: reviewAnswers, description: 'Where nobody answers in time; "pass" if left out.' },
      });
    default:
      return type satisfies never;
  }
}

const heading = { name: text(80, 'Unique in the rule set.'), description: text(600, 'What for, for people.') };
const common = {
  owner: text(80, 'The team that answers for it.'),
  priority: { ...priority, description: 'Higher comes first; 1 if left out.' },
  stage: { enum: ['request', 'offer'], description: 'Before pricing (the default) or after it.' },
  onMissing: { const: 'ignore', description: 'Only with "pass": what cannot be decided does not pass.' },
  validFrom: day,
  validUntil: day,
  share: {
    type: 'number',
    minimum: 0.001,
    maximum: 0.999,
    description: 'Of the workers, always the same ones; the rule is for them alone.',
  },
};

function ruleSchema(): Schema {
  const event = {
    anyOf: [
      ...eventTypes.map((type) => strict(['type', 'params'], { type: { const: type }, params: paramsOf(type) })),
      strict(['type'], {
        type: { type: 'string', not: { enum: eventTypes }, description: 'A name from events.json.' },
        params: { type: 'object' },
      }),
    ],
  };
  const keys = { ...heading, ...common, conditions: { $ref: '#/definitions/group' }, event };
  return strict(['conditions', 'event'], keys);
}

function file(title: string, schema: Schema): Schema {
  return { $schema: dialect, title, ...schema };
}

function rulesFile(): Schema {
  const rule = ruleSchema();
  const { properties } = rule as { properties: Schema };
  return {
    ...file('Rules of Lance', {
      anyOf: [
        strict(['rules'], { $schema: { type: 'string' }, rules: listOf({ $ref: '#/definitions/rule' }) }),
        { type: 'array', items: { $ref: '#/definitions/rule' } },
        { ...rule, properties: { $schema: { type: 'string' }, ...properties } },
      ],
    }),
    definitions: { ...definitions, rule },
  };
}

function baseSchema(): Schema {
  const facts = factsSchema();
  const like = text(200, 'A base that stands above; its facts, unless this one says otherwise.');
  return { ...facts, properties: { like, ...(facts.properties as Schema) } };
}

/** What names facts stands in `facts.json` alone, so that a new fact changes no other schema. */
const factsRef: Schema = { $ref: 'facts.json#/definitions/facts' };

function factsSchema(): Schema {
  const properties = Object.fromEntries(
    catalogue.map((fact) => [fact.name, { anyOf: [valueSchema(fact), { type: 'null' }], description: describe(fact) }]),
  );
  const others = { type: ['number', 'string', 'boolean', 'null'] };
  return {
    type: 'object',
    properties,
    patternProperties: { '^(extra|score|share|source|values)\\.': others },
    additionalProperties: false,
  };
}

function testsFile(): Schema {
  const names = { type: 'array', items: { type: 'string' } };
  const expect = {
    ...strict([], {
      pass: { type: ['string', 'null'], description: 'The code of the first pass; null: no pass.' },
      limits: strict([], fieldSchemas(limitParameters, true)),
      economics: strict([], fieldSchemas(economicsParameters, true)),
      fired: names,
      silent: names,
      review: {
        anyOf: [{ type: ['string', 'null'] }, strict([], paramsOf('review').properties as Record<string, Schema>)],
        description: 'How a person is asked, or the queue alone; null: nobody is.',
      },
      facts: { type: 'object', description: 'Values of computed facts and scorecards; null: unknown.' },
    }),
    minProperties: 1,
  };
  const test = strict(['name', 'expect'], {
    name: text(160, 'What it shows.'),
    base: text(200, 'A name from bases.json, instead of the base of the file.'),
    at: { type: 'string', description: 'When, like "2026-11-20T09:00:00-03:00".' },
    stage: { enum: ['request', 'offer'] },
    facts: factsRef,
    expect,
  });
  const keys = {
    $schema: { type: 'string' },
    base: { anyOf: [factsRef, text(200, 'A name from bases.json.')] },
    tests: { type: 'array', items: test },
  };
  return file('Tests of rules of Lance', strict(['tests'], keys));
}

function listFile(): Schema {
  return file(
    'A list of Lance',
    strict(['description', 'fact', 'values'], {
      $schema: { type: 'string' },
      description: text(600, 'What for, for people.'),
      owner: common.owner,
      fact: { enum: listFacts },
      values: { type: 'array', items: { type: 'string' }, uniqueItems: true },
    }),
  );
}

function tableFile(): Schema {
  const range = strict([], { from: { type: 'number' }, below: { type: 'number' } });
  const cell = { anyOf: [{ type: ['null', 'number', 'string', 'boolean'] }, { type: 'array' }, range] };
  const row = strict(['when', 'set'], { when: listOf(cell), set: listOf({}) });
  const names = listOf({ type: 'string' }, { maxItems: 12 });
  return file(
    'A decision table of Lance',
    strict(['name', 'description', 'event', 'inputs', 'outputs', 'rows'], {
      $schema: { type: 'string' },
      ...heading,
      ...common,
      event: { enum: ['pass', 'limit', 'economics', 'strategy'] },
      inputs: names,
      outputs: names,
      rows: listOf(row, { maxItems: 500 }),
    }),
  );
}

function conditionsFile(): Schema {
  const named = { type: 'object', additionalProperties: { $ref: '#/definitions/group' } };
  const keys = { $schema: { type: 'string' }, conditions: named };
  return { ...file('Named conditions of Lance', strict(['conditions'], keys)), definitions };
}

function codesFile(): Schema {
  const codes = { type: 'object', additionalProperties: text(300, 'What it means.'), maxProperties: 100 };
  const told = strict(['pt', 'en'], { pt: text(300, 'In Portuguese.'), en: text(300, 'In English.') });
  const worker = {
    type: 'object',
    description: 'What a worker is told.',
    additionalProperties: told,
    maxProperties: 100,
  };
  return file('Pass codes of Lance', strict(['codes'], { $schema: { type: 'string' }, codes, worker }));
}

function eventsFile(): Schema {
  const word = strict(['type'], {
    type: { enum: eventTypes },
    params: { type: 'object', description: 'Those that every event of this name has.' },
    rename: { type: 'object', additionalProperties: { type: 'string' }, description: '{"message": "reason"}.' },
  });
  const events = { type: 'object', additionalProperties: word, maxProperties: 500 };
  return file('Events by other names', strict(['events'], { $schema: { type: 'string' }, events }));
}

function basesFile(): Schema {
  const bases = { type: 'object', additionalProperties: { $ref: 'facts.json#/definitions/base' }, maxProperties: 200 };
  return file('Bases of tests of Lance', strict(['bases'], { $schema: { type: 'string' }, bases }));
}

function computedFile(): Schema {
  const expression = { $ref: '#/definitions/expression' };
  const parts = (least: number, most: number) => listOf(expression, { minItems: least, maxItems: most });
  const unit = { type: 'string', description: 'Only with facts of "extra".' };
  const aDay = { anyOf: [day, strict(['fact'], { fact: { type: 'string' } })] };
  const operations: Schema[] = [
    ...['add', 'mul', 'min', 'max'].map((key) => strict([key], { [key]: parts(2, 20) })),
    ...['sub', 'div'].map((key) => strict([key], { [key]: parts(2, 2) })),
    ...['daysBetween', 'monthsBetween'].map((key) =>
      strict([key], { [key]: listOf(aDay, { minItems: 2, maxItems: 2 }) }),
    ),
    strict(['round'], { round: expression, decimals: { type: 'integer', minimum: 0, maximum: 6 } }),
    strict(['count'], { count: strict(['fact'], { fact: { type: 'string' } }) }),
    strict(['sum'], { sum: strict(['fact'], { fact: text(200, 'Like "extra.loans.*.instalment".'), unit }) }),
    strict(['fact'], { fact: { type: 'string' }, unit }),
  ];
  const fact = strict(['description', 'value'], { description: text(600, 'What for, for people.'), value: expression });
  const facts = { type: 'object', additionalProperties: fact, maxProperties: 200 };
  return {
    ...file('Computed facts of Lance', strict(['facts'], { $schema: { type: 'string' }, facts })),
    definitions: { expression: { anyOf: [{ type: 'number' }, ...operations] } },
  };
}

function scoreFile(): Schema {
  const bin = {
    ...strict(['points'], {
      from: { type: 'number' },
      below: { type: 'number' },
      in: { type: 'array', minItems: 1 },
      else: { const: true, description: 'All values that no other bin names; the last one.' },
      points: { type: 'integer' },
    }),
  };
  const characteristic = strict(['fact', 'bins', 'unknown'], {
    fact: text(200, 'A fact of the request, perhaps one of facts.json.'),
    bins: listOf(bin, { maxItems: 100 }),
    unknown: { anyOf: [{ type: 'integer' }, { const: 'unknown', description: 'The score is unknown then.' }] },
  });
  const band = strict(['name'], {
    name: text(40, 'Of the band.'),
    from: { type: 'number' },
    below: { type: 'number' },
  });
  return file(
    'A scorecard of Lance',
    strict(['description', 'characteristics'], {
      $schema: { type: 'string' },
      description: text(600, 'What for, for people.'),
      owner: common.owner,
      start: { type: 'integer', description: 'Points that everybody begins with; 0 if left out.' },
      characteristics: listOf(characteristic, { maxItems: 50 }),
      bands: listOf(band, { minItems: 2, maxItems: 100 }),
    }),
  );
}

function valuesFile(): Schema {
  const column = strict(['type'], {
    type: { enum: ['number', 'text', 'day'] },
    unit: { enum: valueUnits, description: 'Of a number, which has to have one.' },
    values: listOf({ type: 'string' }, { maxItems: 500, description: 'All that a text may be.' }),
    description: text(600, 'What for, for people.'),
  });
  const cell = { type: ['number', 'string', 'null'] };
  const row = {
    type: 'object',
    required: ['key'],
    properties: { key: { type: 'string' } },
    additionalProperties: { ...cell, description: 'Of a column; null: unknown.' },
  };
  return file(
    'A value table of Lance',
    strict(['description', 'key', 'columns'], {
      $schema: { type: 'string' },
      description: text(600, 'What for, for people.'),
      owner: common.owner,
      key: text(200, 'The fact whose value is looked up.'),
      columns: { type: 'object', minProperties: 1, maxProperties: 20, additionalProperties: column },
      rows: { type: 'array', items: row, description: 'Left out where they stand in NAME.values.csv.' },
      refresh: { const: true, description: 'New rows in NAME.values.csv need no other approval than the set has.' },
    }),
  );
}

function sourceFile(): Schema {
  const field = strict(['type'], {
    type: { enum: ['number', 'text', 'day'] },
    unit: { enum: valueUnits, description: 'Of a number, which has to have one.' },
    values: listOf(
      { type: 'string' },
      { maxItems: 500, description: 'All that a text may be; a text has to have them.' },
    ),
    min: { type: 'number', description: 'Least number that it may be.' },
    max: { type: 'number', description: 'Highest number that it may be.' },
    description: text(600, 'What for, for people.'),
  });
  const names = (description: string) => ({ type: 'array', items: { type: 'string' }, maxItems: 20, description });
  return file(
    'An external source, asked over HTTP',
    strict(['description', 'endpoint', 'send', 'reply', 'timeoutMs', 'maxAskedPerDay'], {
      $schema: { type: 'string' },
      description: text(600, 'What for, for people.'),
      owner: common.owner,
      endpoint: text(40, 'Name of the address under "enrichment" in the configuration.'),
      send: names('Facts of the request that are sent; "worker.cpf" where the configuration allows it.'),
      optional: names('Those of them without which it is asked all the same.'),
      personal: names('Those of them that say something of the worker.'),
      reply: { type: 'object', minProperties: 1, maxProperties: 20, additionalProperties: field },
      timeoutMs: { type: 'integer', minimum: timeouts.min, maximum: timeouts.max },
      maxAskedPerDay: { type: 'integer', minimum: budgets.min, maximum: budgets.max },
      otherwise: {
        type: 'object',
        additionalProperties: { type: ['number', 'string', 'null'] },
        description: 'What holds where there is no answer, by field; what is left out is unknown.',
      },
    }),
  );
}

function holidaysFile(): Schema {
  return file(
    'Holidays of the desk',
    strict(['from', 'until', 'holidays'], {
      $schema: { type: 'string' },
      owner: common.owner,
      from: day,
      until: day,
      holidays: {
        type: 'object',
        maxProperties: 2_000,
        propertyNames: { pattern: day.pattern },
        additionalProperties: text(80, 'What is celebrated.'),
      },
    }),
  );
}

/** The catalogue as a table for people. */
function factsPage(): string {
  const rows = catalogue.map(({ name, type, unit, values, range, present, example, stage }) => {
    const between = range === null ? '' : ` (${range.min} … ${range.max})`;
    const measure = values === null ? `${unit ?? ''}${between}` : values.join(', ');
    return `| \`${name}\`${stage === 'offer' ? ' ◆' : ''} | ${type} | ${measure} | ${present} | \`${JSON.stringify(example)}\` |`;
  });
  return [
    '# Facts',
    '',
    'Written by `lance rules schema`; do not edit. ◆: only in rules of the offer stage. Beside these: `score.<name>` (a',
    'number, when the request carries it), `list.<name>` (whether the request is on that list), `desk.holiday` (where the set has',
    'a `holidays.json`), `values.<table>.<column>` (what a value table says), `source.<name>.<field>` (what an external source',
    'answered) and `extra.<key>` (keys of the request that nobody mapped).',
    '',
    '| fact | type | unit or values | when it is there | example |',
    '|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

/** Paths below the folder of rules, and what belongs there. */
export function schemaFiles(): readonly { path: string; text: string }[] {
  const schemas: Readonly<Record<string, Schema>> = {
    rules: rulesFile(),
    tests: testsFile(),
    list: listFile(),
    table: tableFile(),
    conditions: conditionsFile(),
    codes: codesFile(),
    events: eventsFile(),
    bases: basesFile(),
    computed: computedFile(),
    score: scoreFile(),
    values: valuesFile(),
    source: sourceFile(),
    holidays: holidaysFile(),
    facts: {
      facts: catalogue,
      definitions: { comparison: comparisonSchema(), facts: factsSchema(), base: baseSchema() },
    },
  };
  const files = Object.entries(schemas).map(([name, schema]) => {
    const path = name === 'facts' ? 'schema/facts.json' : `schema/${name}.schema.json`;
    return { path, text: `${JSON.stringify(schema, null, 1)}\n` };
  });
  return [...files, { path: 'schema/facts.md', text: factsPage() }];
}
