import assert from "node:assert/strict";
import { price } from "../price.mjs";

assert.equal(price(0), 0, "nothing costs nothing");
